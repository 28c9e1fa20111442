// The options of compare(), converge() and validate().
#include "headgauge/options.hpp"

#include <fmt/format.h>

#include "headgauge/compare.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/validate.hpp"

namespace headgauge {

std::vector<Option> options_of(CompareOptions& o) {
  // The help of the examples needs the numbers of this comparison, and not those of a scan.
  std::vector<Option> scan =
      adapted_options("CompareOptions", without(options_of(o.scan), {"normalizer", "pattern"}));
  std::string& help = find_option(scan, "examples").help;
  help = fmt::format(fmt::runtime(help), kUsualTokenLosses, kDocumentsWithExamples);
  return join_options(
      {declared_options("CompareOptions", {{"normalizers", &o.normalizers},
                                           {"patterns", &o.patterns},
                                           {"each", choice(o.each, {"none", "layer", "head"})},
                                           {"serve", &o.serve}}),
       scan});
}

std::vector<Option> options_of(ConvergeOptions& o) {
  return join_options(
      {adapted_options("ConvergeOptions", without(options_of(o.scan), {"pattern", "examples"})),
       declared_options("ConvergeOptions", {{"grid", &o.grid},
                                            {"points", &o.points},
                                            {"replicates", &o.replicates},
                                            {"draws", &o.draws},
                                            {"tolerances", &o.tolerances}})});
}

std::vector<Option> options_of(ValidateOptions& o) {
  return join_options({declared_options("ValidateOptions", {{"patterns", &o.patterns},
                                                            {"normalizers", &o.normalizers},
                                                            {"permutations", &o.permutations},
                                                            {"resamples", &o.resamples},
                                                            {"level", &o.level}}),
                       without(options_of(o.scan), {"normalizer", "pattern", "examples"})});
}

}  // namespace headgauge
