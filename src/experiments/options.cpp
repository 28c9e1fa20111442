// The options of compare(), converge() and validate().
#include "headgauge/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "headgauge/compare.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/validate.hpp"

namespace headgauge {
namespace {

// Returns the options of a scan without those of these names.
std::vector<Option> scan_without(const std::set<std::string>& names, ScanOptions& scan) {
  std::vector<Option> options = options_of(scan);
  std::erase_if(options, [&](const Option& option) { return names.contains(option.name()); });
  return options;
}

std::vector<Option> joined(std::vector<Option> options, std::vector<Option> more) {
  std::ranges::move(more, std::back_inserter(options));
  return options;
}

}  // namespace

std::vector<Option> options_of(CompareOptions& o) {
  std::vector<Option> scan =
      reworded("CompareOptions", scan_without({"normalizer", "pattern"}, o.scan));
  std::string& help = find_option(scan, "examples").help;
  help = fmt::format(fmt::runtime(help), kUsualTokenLosses, kDocumentsWithExamples);
  return joined(
      declared_options({{"CompareOptions::normalizers", &o.normalizers},
                        {"CompareOptions::patterns", &o.patterns},
                        {"CompareOptions::each", choice(o.each, {"none", "layer", "head"})}}),
      std::move(scan));
}

std::vector<Option> options_of(ConvergeOptions& o) {
  return joined(reworded("ConvergeOptions", scan_without({"pattern", "examples"}, o.scan)),
                declared_options({{"ConvergeOptions::grid", &o.grid},
                                  {"ConvergeOptions::points", &o.points},
                                  {"ConvergeOptions::replicates", &o.replicates},
                                  {"ConvergeOptions::draws", &o.draws},
                                  {"ConvergeOptions::tolerances", &o.tolerances}}));
}

std::vector<Option> options_of(ValidateOptions& o) {
  return joined(declared_options({{"ValidateOptions::patterns", &o.patterns},
                                  {"ValidateOptions::normalizers", &o.normalizers},
                                  {"ValidateOptions::permutations", &o.permutations},
                                  {"ValidateOptions::resamples", &o.resamples},
                                  {"ValidateOptions::level", &o.level}}),
                scan_without({"normalizer", "pattern", "examples"}, o.scan));
}

}  // namespace headgauge
