// The last line of the summary: what to do about it.
#include "scan/summary_lines.hpp"

namespace headgauge::summary {

MaybeLine Summary::advice() const {
  const auto widest = largest("mass_90");
  const int longest = *longest_length(results_);
  const double limit = std::ceil(0.06 * longest) - 1;
  if (!widest || limit < 1) return std::nullopt;  // of so few keys the rule leaves none
  Line line;
  length(line.say("At ")).say(", keep at most ").whole({Line::Kind::length_limit}, limit);
  line.say(limit == 1 ? " key (N below " : " keys (N below ");
  line.constant("6").say(" %) per query");
  line.say(widest->cell.value > limit ? ", but more for " : "; that is enough even for ");
  line.head(widest->head).say(" (").number(widest->cell).say(" keys for ").constant("90");
  line.say(" % of its weight)");

  temperature(line);
  return line.say(".").done();
}

// How low the temperature may go, by the gradients measured: sensitive at 0.1, or at 1 already.
void Summary::temperature(Line& line) const {
  const auto hot = find_label(results_, "temperature", 0.1);
  const auto model = find_label(results_, "temperature", 1.0);
  const auto small = find_label(results_, "epsilon", 1e-3);
  if (!hot || !model || !small) return;
  const auto gradient = [&](const HeadName& h, Index temperature) {
    return find_cell(results_, "sensitivity",
                     {{"layer", h.layer_index},
                      {"head", h.head_index},
                      {"temperature", temperature},
                      {"epsilon", *small}});
  };
  const auto touchy = best([&](const HeadName& h) -> std::optional<double> {
    const auto g = gradient(h, *hot);
    return g && gradient(h, *model) ? std::optional(g->value) : std::nullopt;
  });
  if (!touchy) return;
  const MetricCell there = *gradient(*touchy, *hot);
  const auto steepest = largest("sensitivity_top2");
  if (there.value <= kSensitive && steepest && steepest->cell.value > kSensitive) {
    line.say("; stay above T = ").constant("0.1").say(", for at T = ").constant("1").say(" already ");
    line.head(steepest->head).say(" has a gradient of ").number(steepest->cell);
    line.say(" between its two best keys");
    return;
  }
  if (there.value > kSensitive) {
    line.say("; stay above T = ").constant("0.1").say(", where the gradient of ").head(*touchy);
    line.say(" is ").number(there);
  } else {
    line.say("; the gradients leave room down to T = ").constant("0.1").say(": at most ");
    line.number(there).say(" there, in ").head(*touchy);
  }
  line.say(" (").number(*gradient(*touchy, *model)).say(" at T = ").constant("1").say(")");
}

}  // namespace headgauge::summary
