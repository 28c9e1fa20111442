// The losses that were measured so far, in a file that a later run goes on from.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/saved_state.hpp"
#include "headgauge/attention_plan.hpp"

namespace headgauge {

// Mean losses in nats by document, under plans for documents of one set of texts. A search asks for
// the same ones again when it is run again, finds them here, and so goes on where it was stopped.
class Evaluations {
 public:
  // `identity` is everything that the losses depend on; no path: nothing is kept. Reads the file
  // where there is one; BadInputError for one of another identity, or that is no such file.
  Evaluations(std::string path, nlohmann::ordered_json identity);

  // The key of a plan on a set of documents.
  static std::string key(const std::string& set, const PerHead<HeadPlan>& plan);
  // Null: not measured, or not on that many documents.
  const std::vector<double>* find(const std::string& key, Index documents) const;
  void add(const std::string& key, std::vector<double> losses);
  // Saves to the file, atomically, if anything was added since.
  void save();

 private:
  SavedState file_;
  std::map<std::string, std::vector<double>> losses_;
  bool saved_ = true;
};

}  // namespace headgauge
