// The measured losses of plans: a later run of the same plan continues from them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "headgauge/attention_plan.hpp"
#include "headgauge/journal.hpp"

namespace headgauge {

// The losses of plans on a set of documents: for each document the means in nats, and for a case of
// a task whether its answer is right. A repeated search asks for the same
// losses, finds them here, and so continues where it stopped.
class Evaluations {
 public:
  // The journal finds and keeps the losses of other runs of this plan.
  explicit Evaluations(Journal& journal = no_journal()) : journal_(journal) {}

  // Returns the key of a plan on a set of documents.
  static std::string key(const std::string& set, const PerHead<HeadPlan>& plan);
  // Returns null if the losses were not measured. Throws DamagedPartError if the journal has
  // another number of them, or one that no loss has.
  const std::vector<double>* find(const std::string& key, Index numbers);
  void add(const std::string& key, std::vector<double> losses);

 private:
  Journal& journal_;
  std::map<std::string, std::vector<double>> losses_;
};

}  // namespace headgauge
