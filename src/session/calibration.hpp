// Budgets for increases of the loss, in addition to converge().
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "session/input.hpp"

namespace headgauge {

class Calibration {
 public:
  // Keeps references to both arguments.
  Calibration(const Input& input, const ConvergeRequest& request);

  bool asked() const;
  // Returns notices about the cases.
  const std::vector<std::string>& notices() const { return cases_.notices; }
  // Reads the texts whole, and the cases. Throws UsageError if only one of tolerance_nats and texts
  // to confirm on is given, if there are tasks without them, if there is a plan, or if some texts
  // share tokens; UnsupportedError for a model without a loss; BadInputError if the texts give too
  // few pieces.
  void check(const HeadSource& source);
  // Measures pieces of the texts and of those to confirm on, each as long as the longest length,
  // and adds the budgets to the results of converge(). Cases of tasks that the model does take
  // part: the odd ones of each task with the texts, the even ones with those to confirm on. Throws
  // BadInputError if the model does no task, or if one has fewer than 4 cases.
  void run(Results& results, Progress* progress, const std::stop_token& stop);
  // Writes a plan for each loss increase that some tolerance satisfies; returns their paths.
  std::vector<std::string> save(const std::string& folder) const;

 private:
  const Input& input_;
  const ConvergeRequest& request_;
  std::vector<Document> learn_, unseen_;
  Cases cases_;
  std::vector<MadePlan> plans_;
};

}  // namespace headgauge
