// Keeps the measured losses in a file from which a later run continues.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/saved_state.hpp"
#include "headgauge/attention_plan.hpp"

namespace headgauge {

// Mean losses in nats by document, for plans on a set of texts. A repeated search asks for the same
// losses, finds them here, and so continues where it stopped.
class Evaluations {
 public:
  // `identity` is everything that the losses depend on. Reads the file if it exists; without a path
  // nothing is kept. Throws BadInputError if the file has another identity or is invalid.
  Evaluations(std::string path, nlohmann::ordered_json identity);

  // Returns the key of a plan on a set of documents.
  static std::string key(const std::string& set, const PerHead<HeadPlan>& plan);
  // Returns null if the losses were not measured, or for another number of documents.
  const std::vector<double>* find(const std::string& key, Index documents) const;
  void add(const std::string& key, std::vector<double> losses);
  // Saves to the file atomically if anything was added.
  void save();

 private:
  SavedState file_;
  std::map<std::string, std::vector<double>> losses_;
  bool saved_ = true;
};

}  // namespace headgauge
