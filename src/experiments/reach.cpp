#include "experiments/reach.hpp"

#include <bit>
#include <cstdint>
#include <optional>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "results/sentences.hpp"

namespace headgauge {
namespace {

// Returns the index of the octave that begins at this distance; nothing for a distance that the
// results do not have.
std::optional<Index> octave_from(const Results& results, double distance) {
  const Dimension* const gap = results.coord("gap");
  if (gap == nullptr || !(distance >= 1 && distance < 1e15)) return std::nullopt;
  const auto octave = static_cast<Index>(std::bit_width(static_cast<std::uint64_t>(distance))) - 1;
  return octave < gap->size() ? std::optional(octave) : std::nullopt;
}

}  // namespace

std::vector<SummaryLine> reach_sentences(const Results& results) {
  std::vector<SummaryLine> lines;
  const LabelledArray* const reaches = results.metric(metric::reach);
  if (reaches == nullptr || reaches->dims().size() != 1) return lines;
  const std::string dim = reaches->dims()[0].name();
  for (Index k = 1; k < reaches->dims()[0].size(); ++k) {
    const auto reach = find_cell(results, metric::reach, {{dim, k}});
    if (!reach || reach->is_none) continue;
    const auto octave = octave_from(results, reach->value);
    if (!octave) continue;
    Scope scope({{dim, k}});
    scope.give("change", reaches->dims()[0].label(k))
        .count("reach_end", 2 * reach->value - 1)
        .give("octave", Spot{{{"gap", *octave}}});
    add_sentences("octave", results, scope, lines);
  }
  return lines;
}

}  // namespace headgauge
