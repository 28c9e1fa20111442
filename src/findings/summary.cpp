// Computes what the sentences of a scan say and its results do not hold as it is.
#include "findings/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "findings/answers.hpp"
#include "findings/costs.hpp"
#include "findings/roles.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/flags.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "results/mean_of.hpp"
#include "results/sentences.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kSelects = 0.5;       // a smaller slope of the entropy is nearer to 0 than to 1
constexpr std::size_t kMostNamed = 3;  // heads of a role, and sinks

class ScanScope {
 public:
  explicit ScanScope(const Results& results)
      : results_(results), heads_(measured_heads(results)), top_n_(judged_top_n(results)) {}

  bool is_empty() const { return heads_.empty(); }

  Scope all() {
    std::ranges::copy_if(heads_, std::back_inserter(awake_),
                         [&](const HeadName& head) { return !is_dormant(results_, head); });
    if (top_n_) scope_.picks = {{"top_n", *top_n_}};
    scope_.give("heads", heads_).give("compared", awake_);
    // These results judge the claims already.
    scope_.give_if("claims_are_judged", results_.command == Command::reproduce_limits);
    give_heads_with_flags();
    give_sinks();
    give_reach();
    give_growth();
    give_slopes();
    give_critical();
    give_separability();
    return std::move(scope_);
  }

 private:
  using Score = std::function<std::optional<double>(const HeadName&)>;

  // Gives the head with the highest score, the first of equal ones, a name.
  std::optional<HeadName> give_best(const char* name, const std::vector<HeadName>& heads,
                                    const Score& score) {
    std::optional<HeadName> best;
    double highest = 0;
    for (const HeadName& head : heads) {
      const auto found = score(head);
      if (!found || std::isnan(*found) || (best && *found <= highest)) continue;
      best = head;
      highest = *found;
    }
    if (best) scope_.give(name, spot_of(*best));
    return best;
  }
  std::optional<MetricCell> cell(std::string_view metric, const HeadName& head) const {
    return find_cell_of_head(results_, metric, head);
  }
  bool sees_all(const HeadName& head) const { return sees_all_keys(results_, head.layer_index); }

  void give_heads_with_flags() {
    open_ = std::ranges::count_if(heads_, [&](const HeadName& head) { return sees_all(head); });
    if (open_ > 0 && open_ < std::ssize(heads_)) {
      scope_.count("unwindowed", open_);
    } else {
      open_ = std::ssize(heads_);  // no head has a window, or all have
    }
    for (const FlagInfo& info : flag_infos()) {
      std::vector<const Flag*> raised;
      for (const Flag& flag : results_.flags) {
        if (flag.name == info.name) raised.push_back(&flag);
      }
      scope_.count("among_" + info.name, std::ranges::count_if(raised, [&](const Flag* flag) {
                     return std::ranges::any_of(heads_, [&](const HeadName& head) {
                       return head.layer == flag->layer && head.head == flag->head &&
                              sees_all(head);
                     });
                   }));
      std::ranges::stable_sort(raised, std::greater(), &Flag::value);
      std::vector<Scope> top;
      for (std::size_t i = 0; i < std::min(raised.size(), kMostNamed); ++i) {
        top.emplace_back().give("head_of_list", spot_of({0, 0, raised[i]->layer, raised[i]->head}));
      }
      scope_.give("top_" + info.name, std::move(top));
    }
  }

  void give_sinks() {
    // The keys of cross-attention are not tokens of the text.
    scope_.give("key", results_.model.attention == "cross" ? "key" : "token");
    std::vector<Scope> sinks;
    for (const FoundSink& sink : results_.text.sinks.value_or(std::vector<FoundSink>())) {
      if (sinks.size() == kMostNamed) break;
      sinks.emplace_back()
          .count("position", sink.position)
          .count("resting", sink.heads)
          .count("first_layer", sink.first_layer)
          .count("last_layer", sink.last_layer);
    }
    scope_.give("sinks", std::move(sinks));
  }

  // Gives how far back the middle head of each layer looks, by thirds of the layers: of all, or of
  // those with a window and those without apart.
  void give_reach() {
    std::map<bool, std::vector<std::pair<int, double>>> layers;  // by whether they see all keys
    for (auto begin = heads_.begin(); begin != heads_.end();) {
      std::vector<double> distances;
      const HeadName& first = *begin;
      for (; begin != heads_.end() && begin->layer_index == first.layer_index; ++begin) {
        if (const auto found = cell(metric::attention_distance, *begin)) {
          distances.push_back(found->value);
        }
      }
      if (!distances.empty()) layers[sees_all(first)].emplace_back(first.layer, median(distances));
    }
    for (const auto& [sees_all_keys, all] : layers) {
      std::vector<Scope> thirds;
      const std::size_t parts = std::min<std::size_t>(3, all.size());
      for (std::size_t part = 0; part < parts; ++part) {
        const auto third = std::span(all).subspan(part * all.size() / parts);
        const auto of = third.first((part + 1) * all.size() / parts - part * all.size() / parts);
        const auto [least, most] =
            std::ranges::minmax(of, {}, [](const auto& layer) { return layer.second; });
        thirds.emplace_back()
            .count("first_layer", of.front().first)
            .count("last_layer", of.back().first)
            .count("nearest", std::round(least.second))
            .count("farthest", std::round(most.second));
      }
      scope_.give(layers.size() == 1 ? "thirds"
                  : sees_all_keys    ? "global_thirds"
                                     : "local_thirds",
                  std::move(thirds));
    }
    const auto window = results_.coord("window");
    if (window != nullptr) scope_.count("window", std::ranges::max(window->numbers()));
  }

  void give_growth() {
    if (results_.coord_size("length") < 2) return;
    const auto growth = [&](const HeadName& head) -> std::optional<double> {
      const auto first =
          find_cell(results_, metric::effective_tokens,
                    {{"layer", head.layer_index}, {"head", head.head_index}, {"length", 0}});
      const auto last = cell(metric::effective_tokens, head);
      if (!first || !last) return std::nullopt;
      return last->value / first->value;
    };
    give_best("growing", awake_, growth);
    give_best("steady", awake_, [&](const HeadName& head) {
      const auto ratio = growth(head);
      return ratio ? std::optional(-*ratio) : std::nullopt;
    });
  }

  // Gives the heads that disperse most and least at longer contexts (docs/mathematics.md 7b). The
  // ends of 95 % intervals decide: a noisy head must not pass as the most or the least.
  void give_slopes() {
    const auto interval_of = [&](const HeadName& head) -> std::optional<Interval> {
      const auto slope = cell(metric::entropy_slope_with_sinks, head);
      if (!slope || !sees_all(head)) return std::nullopt;
      return t_interval(mean_of(*slope));
    };
    const auto most = give_best("dispersing", awake_, [&](const HeadName& head) {
      return interval_of(head).value_or(Interval()).low;
    });
    const auto least = give_best("gathering", awake_, [&](const HeadName& head) {
      return -interval_of(head).value_or(Interval()).high;
    });
    if (!most || !least) return;
    scope_.give_if("selects", interval_of(*least)->high < kSelects);
    if (most->text() == least->text()) scope_.names.erase("dispersing");
  }

  void give_critical() {
    scope_.give_if("critical_can_be_shown",
                   critical_n_can_be_shown(results_, static_cast<std::size_t>(open_)));
    if (const auto range = critical_range(results_)) {
      scope_.give("critical_range", Fact{fmt::format("{}", *range),
                                         {FactSource::Kind::critical_range},
                                         static_cast<double>(*range)});
    }
    // No head was judged if there are no standard errors.
    const auto has_one = [&](const HeadName& head) {
      const auto found = cell(metric::critical_n_head, head);
      return found && !found->is_none;
    };
    const auto reached = static_cast<double>(std::ranges::count_if(heads_, has_one));
    if (std::ranges::any_of(heads_, [&](const HeadName& head) {
          return cell(metric::critical_n_head, head).has_value();
        })) {
      scope_.give("reached", Fact{fmt::format("{}", reached),
                                  {FactSource::Kind::heads_with, metric::critical_n_head},
                                  reached});
    }
    give_best("earliest", heads_, [&](const HeadName& head) -> std::optional<double> {
      if (!has_one(head)) return std::nullopt;
      return -cell(metric::critical_n_head, head)->value;
    });
    give_theorem();
  }

  // Gives what the distance in the median head is, over the theorem's own expectation of as many
  // random keys.
  void give_theorem() {
    if (!top_n_) return;
    scope_.give("judged_n", label_of(results_, "top_n", *top_n_));
    std::vector<double> ratios;
    for (const HeadName& head : heads_) {
      const auto distance = find_judged_cell(results_, metric::distance, head);
      const auto expected = find_judged_cell(results_, metric::expected_distance, head);
      if (distance && expected && expected->value > 0) {
        ratios.push_back(distance->value / expected->value);
      }
    }
    if (ratios.empty()) return;
    const double ratio = median(ratios);
    scope_.give("theorem_ratio", computed(ratio, rounded(ratio)));
  }

  Index below_chance(const char* excess, const std::vector<HeadName>& heads) const {
    return std::ranges::count_if(heads, [&](const HeadName& head) {
      const auto found = find_judged_cell(results_, excess, head);
      return found && no_better_than_chance(*found);
    });
  }

  void give_separability() {
    // Few rows give no standard errors. No head was then judged, which differs from none found.
    scope_.give_if("separability_is_judged", std::ranges::any_of(heads_, [&](const HeadName& head) {
                     const auto found =
                         find_judged_cell(results_, metric::separability_excess, head);
                     return found && std::isfinite(found->standard_error);
                   }));
    scope_.count("worse", below_chance(metric::separability_excess, awake_));
    std::vector<HeadName> open = awake_;
    std::erase_if(open, [&](const HeadName& head) { return !sees_all(head); });
    scope_.count("among_worse", below_chance(metric::separability_excess, open));
    // Copies of one vector are keys that no head can tell apart.
    const auto equal = mean_over_heads(results_, metric::equal_key_pairs, heads_, {});
    if (!equal || *equal == 0) return;
    const double percent = 100 * *equal;
    scope_.give("equal_pairs", computed(percent, fmt::format("{:.2g}", percent)));
    scope_.count("apart", below_chance(metric::separability_excess_distinct, awake_));
  }

  const Results& results_;
  std::vector<HeadName> heads_, awake_;
  std::optional<Index> top_n_;
  std::ptrdiff_t open_ = 0;  // the number of heads that are tested for critical N
  Scope scope_;
};

}  // namespace

bool critical_n_can_be_shown(const Results& results, std::size_t heads) {
  const auto level = results.settings.find("critical_level");
  const double threshold =
      level != results.settings.end() && level->is_number() ? level->get<double>() : 0.01;
  return std::exp2(-static_cast<double>(heads)) < threshold;
}

std::vector<SummaryLine> summarize_scan(const Results& results) {
  std::vector<SummaryLine> lines = task_sentences(results);
  ScanScope scope(results);
  if (!longest_length(results) || scope.is_empty() || !has_rows_to_judge(results)) return lines;
  add_sentences("scan", results, scope.all(), lines);
  if (results.coord(kSmaller) != nullptr) {
    std::ranges::move(cost_sentences(results, kSmaller), std::back_inserter(lines));
  }
  return lines;
}

}  // namespace headgauge
