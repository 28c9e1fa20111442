// converge() with budgets for rises of the loss.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "session/input.hpp"

namespace headgauge {

class Calibration {
 public:
  // Both stay as they are.
  Calibration(const Input& input, const ConvergeRequest& request);

  bool asked() const;
  // Throws UsageError where tolerance_nats is given without texts to confirm on, or the other way
  // round, or with a plan, and UnsupportedError for a model without a loss. Reads the texts whole,
  // and throws UsageError where some have tokens in common, BadInputError where they give too few
  // pieces.
  void check(const HeadSource& source);
  // Adds to the results of converge() what pieces of the texts and of those to confirm on give,
  // each as long as the longest length.
  void run(Results& results, Progress* progress, const std::stop_token& stop);
  // Writes a plan for each rise that some tolerance is good for; their paths.
  std::vector<std::string> save(const std::string& folder) const;

 private:
  const Input& input_;
  const ConvergeRequest& request_;
  std::vector<Document> learn_, unseen_;
  std::vector<MadePlan> plans_;
};

}  // namespace headgauge
