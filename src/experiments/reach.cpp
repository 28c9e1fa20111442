#include "experiments/reach.hpp"

#include <bit>
#include <cstdint>
#include <optional>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge {
namespace {

using summary::Line;

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
    const auto change =
        find_cell(results, metric::loss_change_by_gap, {{dim, k}, {"gap", *octave}});
    const auto elsewhere = find_cell(results, metric::loss_change_by_gap,
                                     {{dim, k}, {"gap", results.coord_size("gap") - 1}});
    if (!change || !elsewhere) continue;
    Line line;
    line.say("At L = ").longest(results).say(", under ").say(results.require_coord(dim).label(k));
    line.say(", the loss of tokens that repeat a bigram from ").whole(*reach).say(" to ");
    line.derived(2 * reach->value - 1).say(" tokens back rises by ").nats(*change);
    line.say(" nats, that of tokens that repeat nothing by ").nats(*elsewhere).say(".");
    lines.push_back(line.done());
  }
  return lines;
}

}  // namespace headgauge
