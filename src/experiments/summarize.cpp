// Chooses the function that summarises the results of a command.
#include "findings/summary.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/scan.hpp"
#include "headgauge/synthetic.hpp"
#include "headgauge/validate.hpp"

namespace headgauge {

std::vector<SummaryLine> summarize(const Results& results) {
  switch (results.command) {
    case Command::compare:
      return summarize_comparison(results);
    case Command::simulate:
      return summarize_simulation(results);
    case Command::converge:
      return summarize_convergence(results);
    case Command::validate:
      return summarize_validation(results);
    default:
      return summarize_scan(results);
  }
}

}  // namespace headgauge
