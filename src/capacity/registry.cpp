// Which measures there are: one line each.
#include <algorithm>

#include "capacity/weights.hpp"
#include "headgauge/measure.hpp"

namespace headgauge {
namespace {

const std::vector<std::string>& known_groups() {
  static const std::vector<std::string> groups = {"weights",     "distance",    "separability",
                                                  "sensitivity", "cooperation", "model"};
  return groups;
}

}  // namespace

std::vector<std::unique_ptr<Measure>> make_measures(std::span<const std::string> groups,
                                                    const MeasureOptions& options,
                                                    const SourceInfo& source, int slots) {
  for (const std::string& group : groups) {
    if (std::ranges::find(known_groups(), group) != known_groups().end()) continue;
    std::string known;
    for (const std::string& name : known_groups()) known += (known.empty() ? "" : ", ") + name;
    throw UsageError(fault("--measures", "groups among " + known, "\"" + group + "\"",
                           "`headgauge measures` lists them"));
  }
  const auto wanted = [&](const char* group) {
    return groups.empty() || std::ranges::find(groups, group) != groups.end();
  };
  std::vector<std::unique_ptr<Measure>> measures;
  if (wanted("weights")) measures.push_back(make_weights_measure(slots));
  static_cast<void>(options);
  static_cast<void>(source);
  return measures;
}

}  // namespace headgauge
