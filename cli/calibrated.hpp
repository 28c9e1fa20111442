// converge --tolerance-nats: budgets for rises of the loss.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "cli/run.hpp"
#include "cli/table.hpp"
#include "headgauge/calibrate.hpp"

namespace headgauge::cli {

struct CalibrationCommand {
  CalibrateOptions calibrate;
  std::vector<std::string> confirm;  // files, texts or token ids as those of the scan are

  std::vector<Option> options();
  bool asked() const { return !calibrate.tolerance_nats.empty(); }
  // Throws UsageError where one of the two options is given without the other, or with a plan, and
  // UnsupportedError for a model without a loss. Reads the texts whole, and throws UsageError where
  // some have tokens in common, BadInputError where they give too few pieces.
  void check(const RunOptions& run, const ScanOptions& scan, const HeadSource& source,
             const std::string& plan);
  // Adds to the results of converge() what pieces of the texts and of those to confirm on give,
  // each as long as the longest length.
  void run(const RunOptions& run, const ScanOptions& scan, Results& results, Progress* progress,
           const std::stop_token& stop);
  // Writes a plan for each rise that some tolerance is good for; their paths.
  std::vector<std::string> save(const std::string& folder) const;

 private:
  std::vector<Document> learn_, unseen_;
  std::vector<MadePlan> plans_;
};

// What results hold of it; empty where they hold nothing.
std::string render_calibration(const Results& results, const TableOptions& options);

}  // namespace headgauge::cli
