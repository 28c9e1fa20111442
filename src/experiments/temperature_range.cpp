#include "experiments/temperature_range.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <vector>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "results/mean_of.hpp"
#include "results/summary_line.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kTemperatureLevel = 0.05;
constexpr std::size_t kFewestTemperatures = 2;
constexpr const char* kSameLossText = "0.05";
constexpr double kSameLoss = 0.05;  // nats

struct Tried {
  double temperature = 1;
  MetricCell change;
};

// Returns T of "softmax:t=T".
std::optional<double> temperature_of(std::string_view label) {
  constexpr std::string_view kBegin = "softmax:t=";
  if (!label.starts_with(kBegin)) return std::nullopt;
  label.remove_prefix(kBegin.size());
  double value = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), value);
  if (error != std::errc() || end != label.data() + label.size() || !(value > 0)) {
    return std::nullopt;
  }
  return value;
}

bool within(const MetricCell& change, double margin) {
  const MeanWithError mean = mean_of(change);
  return t_test(mean, margin, Tail::below).p <= kTemperatureLevel &&
         t_test(mean, -margin, Tail::above).p <= kTemperatureLevel;
}

// Returns the temperatures of one side, outwards from 1, before the first that is not shown to be
// equivalent.
template <class Iterator>
std::vector<double> shown(Iterator at, Iterator end) {
  std::vector<double> temperatures;
  for (; at != end && within(at->change, kSameLoss); ++at) temperatures.push_back(at->temperature);
  return temperatures;
}

}  // namespace

std::optional<SummaryLine> temperature_range(const Results& results) {
  const LabelledArray* change = results.metric(metric::loss_change);
  if (change == nullptr || change->has_dim("layer") || !change->has_dim("normalizer")) {
    return std::nullopt;
  }
  std::vector<Tried> all;
  const auto names = results.coord_names("normalizer");
  for (Index k = 1; k < std::ssize(names); ++k) {
    const auto temperature = temperature_of(names[k]);
    const auto cell = find_cell(results, metric::loss_change, {{"normalizer", k}});
    if (temperature && cell) all.push_back({*temperature, *cell});
  }
  if (all.size() < kFewestTemperatures) return std::nullopt;
  std::ranges::sort(all, {}, &Tried::temperature);
  const auto above =
      std::ranges::partition_point(all, [](const Tried& tried) { return tried.temperature < 1; });
  std::vector<double> same = shown(std::make_reverse_iterator(above), all.rend());
  std::ranges::reverse(same);
  std::ranges::copy(shown(above, all.end()), std::back_inserter(same));
  summary::Line line;
  const auto say_temperature = [&](double value) -> summary::Line& {
    return line.fact({fmt::format("{:g}", value), {FactSource::Kind::derived}, value});
  };
  line.say("At L = ").longest(results).say(", of ");
  line.derived(static_cast<double>(all.size())).say(" temperatures from ");
  say_temperature(all.front().temperature).say(" to ");
  say_temperature(all.back().temperature).say(", ");
  for (std::size_t i = 0; i < same.size(); ++i) {
    if (i > 0) line.say(i + 1 == same.size() ? " and " : ", ");
    say_temperature(same[i]);
  }
  line.say(same.empty() ? "none is" : same.size() == 1 ? " is" : " are");
  return line.say(" shown to change the loss by less than ")
      .constant(kSameLossText)
      .say(" nats.")
      .done();
}

}  // namespace headgauge
