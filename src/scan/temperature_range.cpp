#include "scan/temperature_range.hpp"

#include <algorithm>
#include <charconv>
#include <ranges>
#include <string_view>
#include <vector>

#include "headgauge/cells.hpp"
#include "results/mean_of.hpp"
#include "results/summary_line.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kTemperatureLevel = 0.05;
constexpr std::size_t kFewestTemperatures = 2;

struct Tried {
  double temperature = 1;
  MetricCell change;
};

// T of "softmax:t=T".
std::optional<double> temperature_of(std::string_view label) {
  constexpr std::string_view kBegin = "softmax:t=";
  if (!label.starts_with(kBegin)) return std::nullopt;
  label.remove_prefix(kBegin.size());
  double value = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), value);
  if (error != std::errc() || end != label.data() + label.size()) return std::nullopt;
  return value;
}

bool within(const MetricCell& change, double margin) {
  const MeanWithError mean = mean_of(change);
  return t_test(mean, margin, Tail::below).p <= kTemperatureLevel &&
         t_test(mean, -margin, Tail::above).p <= kTemperatureLevel;
}

// The last of these, which go outwards from 1, before one that is not within; 1 if there is none.
template <class Outwards>
double reach(const Outwards& outwards, double margin) {
  double last = 1;
  for (const Tried& tried : outwards) {
    if (!within(tried.change, margin)) break;
    last = tried.temperature;
  }
  return last;
}

}  // namespace

std::optional<SummaryLine> temperature_range(const Results& results) {
  const LabelledArray* change = results.metric("loss_change");
  if (change == nullptr || change->has_dim("layer") || !change->has_dim("normalizer")) {
    return std::nullopt;
  }
  const auto loss = find_cell(results, "loss", {{"normalizer", 0}});
  if (!loss || !(loss->standard_error > 0)) return std::nullopt;
  std::vector<Tried> all;
  const auto names = results.coord_names("normalizer");
  for (Index k = 1; k < std::ssize(names); ++k) {
    const auto temperature = temperature_of(names[k]);
    const auto cell = find_cell(results, "loss_change", {{"normalizer", k}});
    if (temperature && cell) all.push_back({*temperature, *cell});
  }
  if (all.size() < kFewestTemperatures) return std::nullopt;
  std::ranges::sort(all, {}, &Tried::temperature);
  const auto above =
      std::ranges::partition_point(all, [](const Tried& tried) { return tried.temperature < 1; });
  const double margin = loss->standard_error;
  const double low = reach(std::ranges::subrange(all.begin(), above) | std::views::reverse, margin);
  const double high = reach(std::ranges::subrange(above, all.end()), margin);
  summary::Line line;
  const auto say_temperature = [&](double value) -> summary::Line& {
    return line.fact({fmt::format("{:g}", value), {FactSource::Kind::derived}, value});
  };
  line.say("Of the temperatures tried, ");
  say_temperature(all.front().temperature).say(" to ");
  say_temperature(all.back().temperature).say(", ");
  if (low == 1 && high == 1) {
    line.say("none is shown to leave the loss within its standard error (");
  } else {
    line.say("those from ");
    say_temperature(low).say(" to ");
    say_temperature(high).say(" are shown to leave the loss within its standard error (");
  }
  return line.error(*loss).say(" nats).").done();
}

}  // namespace headgauge
