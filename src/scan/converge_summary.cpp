// What converge() found, in sentences.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "convergence/budget.hpp"
#include "headgauge/converge.hpp"
#include "results/longest.hpp"
#include "scan/converge_output.hpp"

namespace headgauge {
namespace {

struct Extreme {
  HeadName head;
  double value = kUndefined;
};

class Sentences {
 public:
  explicit Sentences(const Results& results)
      : results_(results),
        heads_(measured_heads(results)),
        tolerance_(find_label(results, "tolerance", kServed)) {}

  std::vector<std::string> all() const {
    std::vector<std::string> lines;
    for (const auto& line : {horizons(), rates(), budgets(), cache(), meeting()}) {
      if (line) lines.push_back(*line);
    }
    return lines;
  }

 private:
  using Line = std::optional<std::string>;

  double of(const char* metric, const HeadName& head) const {
    const Pick layer{"layer", head.layer_index}, at{"head", head.head_index};
    const auto cell = std::string_view(metric) == "tokens_for_error"
                          ? find_cell(results_, metric,
                                      {layer,
                                       at,
                                       {"tolerance", tolerance_.value_or(0)},
                                       {"sampler", static_cast<Index>(Sampler::recent)}})
                          : find_cell(results_, metric, {layer, at});
    return cell ? cell->value : kUndefined;
  }

  // The head where sign * metric is largest; nothing if no head has it.
  std::optional<Extreme> extreme(const char* metric, double sign) const {
    std::optional<Extreme> best;
    for (const HeadName& head : heads_) {
      const double value = of(metric, head);
      if (std::isnan(value) || (best && sign * value <= sign * best->value)) continue;
      best = Extreme{head, value};
    }
    return best;
  }

  Line horizons() const {
    const auto widest = extreme("horizon", 1), narrowest = extreme("horizon", -1);
    if (!widest || std::isnan(of("rate_predicted", widest->head))) return {};
    const auto slow =
        std::ranges::count_if(results_.flags, [](const Flag& flag) { return flag.name == "slow"; });
    return fmt::format(
        "Horizons reach from {} (head {}) to {} (head {}), for which paper B predicts rates from "
        "{} down to {}; {} of {} heads are slow (below 0.1).",
        rounded(narrowest->value), narrowest->head.text(), rounded(widest->value),
        widest->head.text(), rounded(of("rate_predicted", narrowest->head)),
        rounded(of("rate_predicted", widest->head)), slow, heads_.size());
  }

  Line rates() const {
    const auto slowest = extreme("rate_covariance", -1);
    if (!slowest) return {};
    int below = 0, judged = 0;
    for (const HeadName& head : heads_) {
      const auto rate = find_cell(results_, "rate_covariance",
                                  {{"layer", head.layer_index}, {"head", head.head_index}});
      const double predicted = of("rate_predicted", head);
      if (!rate || std::isnan(predicted)) continue;
      ++judged;
      below += rate->value + 2 * rate->stderr_ < predicted ? 1 : 0;
    }
    std::string text =
        fmt::format("The covariance of the outputs settles slowest in head {}, at a rate of {}",
                    slowest->head.text(), rounded(slowest->value));
    if (judged > 0) {
      text += fmt::format("; {} of {} heads are slower than their horizon predicts", below, judged);
    }
    return text + ".";
  }

  Line budgets() const {
    const auto most = extreme("tokens_for_error", 1), fewest = extreme("tokens_for_error", -1);
    if (!most || !tolerance_) return {};
    return fmt::format(
        "Within 5 % of its output, head {} needs {:.0f} of {} keys (the {} and 4 sinks), "
        "head {} {:.0f}.",
        most->head.text(), most->value, *longest_length(results_),
        results_.model.value("causal", true) ? "most recent" : "nearest", fewest->head.text(),
        fewest->value);
  }

  Line cache() const {
    const MetricArray* bytes = results_.metric("cache_bytes");
    if (bytes == nullptr || std::isnan(bytes->values[1])) return {};
    return fmt::format(
        "The key-value cache takes {:.0f} bytes per token; kept to these budgets {:.0f}, {:.0f} % "
        "of it.",
        bytes->values[0], bytes->values[1], 100 * bytes->values[1] / bytes->values[0]);
  }

  Line meeting() const {
    const auto* rows = results_.coord("capacity_metric");
    const MetricArray* low = results_.metric("rank_correlation_low");
    const MetricArray* high = results_.metric("rank_correlation_high");
    if (rows == nullptr || low == nullptr) return {};
    const auto& a = std::get<std::vector<std::string>>(*rows);
    const auto& b = std::get<std::vector<std::string>>(*results_.coord("convergence_metric"));
    const MetricArray& value = *results_.metric("rank_correlation");
    std::size_t best = value.values.size();
    int clear = 0, judged = 0;
    for (std::size_t i = 0; i < value.values.size(); ++i) {
      if (std::isnan(value.values[i])) continue;
      ++judged;
      if (!(low->values[i] > 0 || high->values[i] < 0)) continue;
      ++clear;
      if (best == value.values.size() || std::abs(value.values[i]) > std::abs(value.values[best])) {
        best = i;
      }
    }
    if (judged == 0) return {};
    if (clear == 0) {
      return "Selecting poorly and needing context do not go together here: every interval of "
             "their rank correlations holds 0.";
    }
    return fmt::format(
        "Selection and need of context go together most in {} against {}: rank correlation {:.2f} "
        "({:.2f} to {:.2f}); {} of {} intervals leave 0 out, where one in 20 would by chance.",
        a[best / b.size()], b[best % b.size()], value.values[best], low->values[best],
        high->values[best], clear, judged);
  }

  const Results& results_;
  std::vector<HeadName> heads_;
  std::optional<Index> tolerance_;
};

}  // namespace

std::vector<std::string> summarize_convergence(const Results& results) {
  return Sentences(results).all();
}

}  // namespace headgauge
