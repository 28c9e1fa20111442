#include "findings/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <vector>

#include "findings/roles.hpp"
#include "findings/summary_lines.hpp"
#include "headgauge/flags.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "results/mean_of.hpp"
#include "statistics/student.hpp"

namespace headgauge::summary {

constexpr const char* kSpread = metric::entropy_normalized;
constexpr double kSelects = 0.5;   // a smaller slope of the entropy is nearer to 0 than to 1
constexpr double kReliable = 0.8;  // share of the heads, as in the notice

MaybeLine Summary::dispersion() const {
  const auto beyond = [&](const HeadName& h) {
    return is_dormant(h) ? std::nullopt : cell(kSpread, h);
  };
  const auto furthest = [&](double sign) {
    return best([&](const HeadName& h) -> std::optional<double> {
      const auto found = beyond(h);
      return found ? std::optional(sign * found->value) : std::nullopt;
    });
  };
  const auto flattest = furthest(1), sharpest = furthest(-1);
  if (!flattest || !sharpest) return std::nullopt;
  Line line;
  length(line.say("Beyond the sinks at "))
      .say(", the flattest head is ")
      .head(*flattest)
      .say(" (entropy, of its maximum: ");
  line.number(*beyond(*flattest)).say("), the sharpest ").head(*sharpest).say(" (");
  return line.number(*beyond(*sharpest)).say(").").done();
}

// Describes which heads put weight on sinks (keys that get weight whatever the query is), and where
// these keys are.
MaybeLine Summary::sinks() const {
  const auto most = largest(metric::sink_weight);
  if (!most) return std::nullopt;
  Line line;
  length(line.say("At ")).say(", ");
  const auto resting = flag_count("sinks");
  if (resting == 0) {
    line.say("no head rests on sinks, keys that take weight whatever the query");
    if (most->cell.value == 0) return line.say(".").done();
    line.say("; most of its weight there has ").head(most->head).say(" (");
    return line.number(most->cell).say(").").done();
  }
  flag_count(line, "sinks", "rests on sinks", "rest on sinks");
  line.say(", keys that take weight whatever the query (more than ");
  cutoff(line, "sinks").say(" of the weight; most in ").head(most->head);
  line.say(", ").number(most->cell).say(")");
  const auto found = results_.text.sinks.value_or(std::vector<FoundSink>());
  // The keys of cross-attention are not tokens of the text.
  const bool cross = results_.model.attention == "cross";
  const std::string key = cross ? "key" : "token";
  for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), 3); ++i) {
    const FoundSink& sink = found[i];
    line.say(i == 0                                            ? ": more than "
             : i + 1 == std::min<std::size_t>(found.size(), 3) ? " and "
                                                               : ", ");
    if (i == 0)
      line.constant("5").say(unwindowed_heads() ? " %, of queries that see it, goes " : " % goes ");
    line.say((sink.position == 0 ? "to the first " : "to ") + key);
    if (sink.position != 0) line.say(" ").derived(sink.position + 1.0);
    line.say(" in ").derived(sink.heads).say(std::round(sink.heads) == 1 ? " head" : " heads");
    if (sink.position == 0) continue;
    line.say(sink.first_layer == sink.last_layer ? " of layer " : " of layers ");
    line.derived(sink.first_layer);
    if (sink.first_layer != sink.last_layer) line.say(" to ").derived(sink.last_layer);
  }
  if (const auto dormant = flag_count("dormant"); dormant > 0) {
    line.say("; ").flags("dormant", static_cast<double>(dormant));
    line.say(dormant == 1 ? " is dormant (above " : " are dormant (above ");
    cutoff(line, "dormant").say(")");
  }
  return line.say(".").done();
}

// Describes the kinds of heads known from the literature, each with the best examples.
MaybeLine Summary::roles() const {
  if (results_.metric(metric::role_chance) == nullptr) return std::nullopt;
  struct Kind {
    const char* flag;
    const char* one;
    const char* many;
  };
  constexpr std::array<Kind, 5> kKinds = {{
      {"induction", "looks at what followed earlier copies of the token (induction",
       "look at what followed earlier copies of the token (induction"},
      {"previous", "looks at the token before", "look at the token before"},
      {"copies", "looks at earlier copies", "look at earlier copies"},
      {"near", "stays near", "stay near"},
      {"far", "looks far back", "look far back"},
  }};
  Line line;
  length(line.say("Beyond the sinks at ")).say(", ");
  bool any = false;
  for (const Kind& kind : kKinds) {
    std::vector<const Flag*> heads;
    for (const Flag& flag : results_.flags) {
      if (flag.name == kind.flag) heads.push_back(&flag);
    }
    if (heads.empty()) continue;
    std::ranges::stable_sort(heads, std::greater(), &Flag::value);
    line.say(any ? ", " : "").flags(kind.flag, static_cast<double>(heads.size()));
    if (!any) line.say(heads.size() == 1 ? " head" : " heads");
    line.say(" ").say(heads.size() == 1 ? kind.one : kind.many);
    const bool open = std::string_view(kind.one).find('(') != std::string_view::npos;
    for (std::size_t i = 0; i < std::min<std::size_t>(heads.size(), 3); ++i) {
      line.say(i > 0 ? ", " : open ? ": " : " (");
      line.head({0, 0, heads[i]->layer, heads[i]->head});
    }
    if (unwindowed_heads()) open_heads(line.say("; "), kind.flag);
    line.say(")");
    any = true;
  }
  if (!any) return std::nullopt;
  return line.say(".").done();
}

MaybeLine Summary::growth() const {
  if (results_.coord_size("length") < 2) return std::nullopt;
  const auto at_first = [&](const HeadName& head) {
    return find_cell(results_, metric::effective_tokens,
                     {{"layer", head.layer_index}, {"head", head.head_index}, {"length", 0}});
  };
  const auto growth = [&](const HeadName& head) -> std::optional<double> {
    const auto first = at_first(head);
    const auto last = cell(metric::effective_tokens, head);
    if (!first || !last || is_dormant(head)) return std::nullopt;
    return last->value / first->value;
  };
  const auto most = best(growth);
  if (!most) return std::nullopt;
  const auto least = best([&](const HeadName& h) -> std::optional<double> {
    const auto g = growth(h);
    return g ? std::optional(-*g) : std::nullopt;
  });
  Line line;
  line.say("From L = ").label(results_, "length", 0);
  length(line.say(" to ")).say(", ").head(*most).say(" goes from ");
  line.number(*at_first(*most)).say(" to ").number(*cell(metric::effective_tokens, *most));
  line.say(" effective keys, ").head(*least).say(" from ");
  line.number(*at_first(*least)).say(" to ").number(*cell(metric::effective_tokens, *least));
  return line.say(".").done();
}

std::optional<MetricCell> Summary::forecast(const HeadName& h) const {
  auto found =
      find_cell(results_, metric::effective_tokens_forecast,
                {{"layer", h.layer_index}, {"head", h.head_index}, {"forecast_length", 0}});
  return found && found->has_interval() ? std::move(found) : std::nullopt;
}

// Describes what to expect at longer contexts (docs/mathematics.md 7b).
MaybeLine Summary::outlook() const {
  // The ends of 95 % intervals: a noisy head must not pass as the most or the least.
  const auto by_end = [&](auto end) {
    return best([&](const HeadName& h) -> std::optional<double> {
      const auto slope = cell(metric::entropy_slope, h);
      if (!slope || is_dormant(h) || !sees_all(h)) return std::nullopt;
      return end(t_interval(mean_of(*slope)));
    });
  };
  const auto most = by_end([](const Interval& interval) { return interval.low; });
  const auto least = by_end([](const Interval& interval) { return -interval.high; });
  if (!most || !least || most->text() == least->text()) return std::nullopt;
  const MetricCell fast = *cell(metric::entropy_slope, *most);
  const MetricCell slow = *cell(metric::entropy_slope, *least);
  Line line;
  length(line.say("Up to "))
      .say(", ")
      .head(*most)
      .say(" is shown to disperse most (its entropy grows by ");
  line.number(fast).say(" ± ").error(fast).say(" per unit of log n), ").head(*least);
  const bool selects = t_interval(mean_of(slow)).high < kSelects;
  line.say(selects ? " keeps selecting (" : " least (");
  line.number(slow).say(" ± ").error(slow).say(")");

  const auto share = find_cell(results_, metric::forecast_coverage, {});
  const auto wide = forecast(*most), narrow = forecast(*least);
  if (!share || !wide || !narrow) return line.say(".").done();
  const auto interval = [&](const MetricCell& of) -> Line& {
    return line.number(of).say(" (").ends(of).say(")");
  };
  line.say("; at L = ");
  line.label(results_, "forecast_length", 0).say(" they should spread over ");
  interval(*wide).say(" and ");
  interval(*narrow).say(" keys (").constant("95");
  line.say(share->value < kReliable
               ? " % intervals, unreliable: one octave before, such intervals held for only "
               : " % intervals: one octave before, such intervals held for ");
  return line.number(*share, 100).say(" % of the heads).").done();
}

// Describes at which N up to the searched ones the median over the heads is closest.
void Summary::closest(int searched, Line& line) const {
  const auto n = find_cell(results_, metric::closest_n, {});
  const auto ratio = find_cell(results_, metric::closest_ratio, {});
  if (!n || !n->has_interval() || !ratio) return;
  line.say("; the median over the heads is closest at N = ").whole(*n).say(" (");
  line.whole({FactSource::Kind::low, n->metric, n->index}, n->low).say(" to ");
  line.whole({FactSource::Kind::high, n->metric, n->index}, n->high);
  line.say(n->high >= searched ? " or more" : "");
  line.say("; ").number(*ratio).say(" of it)");
}

MaybeLine Summary::critical() const {
  const auto compared = static_cast<std::size_t>(unwindowed_heads().value_or(std::ssize(heads_)));
  if (!critical_n_can_be_shown(results_, compared)) return std::nullopt;
  const auto whole = find_cell(results_, metric::critical_n, {});
  const auto searched = critical_range(results_);
  if (!whole || !searched) return std::nullopt;
  Line line;
  const auto share = find_cell(results_, metric::critical_fraction, {});
  length(line.say("At ")).say(", over ");
  if (const auto open = unwindowed_heads()) {
    line.say("the ").derived(static_cast<double>(*open)).say(" heads that see all keys");
  } else {
    line.say("all heads");
  }
  line.say(", the distance is shown to be the expected one within ");
  line.constant("5").say(" % at ");
  if (share) {
    line.say("N = ").whole(*whole).say(" first (").number(*share, 100).say(" %; ");
  } else {
    line.say("no N up to ").whole({Line::Kind::critical_range}, *searched).say(" (");
  }
  line.say("critical N, reading \"context\")");
  closest(*searched, line);
  // Without standard errors, no head was judged.
  std::size_t reached = 0;
  std::size_t judged = 0;
  for (const HeadName& head : heads_) {
    const auto n = cell(metric::critical_n_head, head);
    judged += n.has_value();
    reached += n.has_value() && !n->is_none;
  }
  const auto first = best([&](const HeadName& h) -> std::optional<double> {
    const auto n = cell(metric::critical_n_head, h);
    return n && !n->is_none ? std::optional(-n->value) : std::nullopt;
  });
  if (judged > 0) {
    line.say("; one by one ")
        .whole({Line::Kind::heads_with, metric::critical_n_head}, static_cast<double>(reached));
    line.say(" of ").whole({Line::Kind::heads}, static_cast<double>(heads_.size()));
    line.say(reached == 1 ? " heads gets there by " : " heads get there by ");
    line.say("N = ").whole({Line::Kind::critical_range}, *searched);
  }
  if (first) {
    line.say(", first ").head(*first).say(" (");
    line.whole(*cell(metric::critical_n_head, *first)).say(")");
  } else if (const auto widest = largest(metric::mass_90)) {
    line.say("; ").head(widest->head).say(" spreads ").constant("90");
    line.say(" % of its weight beyond the sinks over ").number(widest->cell).say(" keys");
  } else {
    return std::nullopt;
  }
  add_theorem(line);
  return line.say(".").done();
}

// Says what the theorem's own expectation is, in the median head, of as many random keys.
void Summary::add_theorem(Line& line) const {
  const auto n = judged_top_n(results_);
  std::vector<double> ratios;
  for (const HeadName& h : heads_) {
    const auto distance = find_judged_cell(results_, metric::distance, h);
    const auto expected = find_judged_cell(results_, metric::expected_distance, h);
    if (distance && expected && expected->value > 0) {
      ratios.push_back(distance->value / expected->value);
    }
  }
  if (!n || ratios.empty()) return;
  const double ratio = median(ratios);
  line.say("; in the median head the distance at N = ").label(results_, "top_n", *n).say(" is ");
  line.fact({rounded(ratio), {Line::Kind::derived}, ratio});
  line.say(" times what Theorem ").constant("1.2").say(" expects of random keys");
}

// Says how many pairs of keys are copies of one vector, which no head can tell apart, and what
// holds with each vector counted once.
void Summary::add_copies(Line& line) const {
  const auto equal = mean_over_heads(results_, metric::equal_key_pairs, heads_, {});
  if (!equal || *equal == 0) return;
  const auto apart = std::ranges::count_if(heads_, [&](const HeadName& h) {
    const auto found = find_judged_cell(results_, metric::separability_excess_distinct, h);
    return found && !is_dormant(h) && no_better_than_chance(*found);
  });
  line.say(" (").derived(static_cast<double>(apart)).say(" with each vector counted once: ");
  line.fact({fmt::format("{:.2g}", 100 * *equal), {Line::Kind::derived}, 100 * *equal});
  line.say(" % of the pairs of keys have one vector)");
}

MaybeLine Summary::separability() const {
  const auto top_n = judged_top_n(results_);
  if (!top_n) return std::nullopt;
  const auto excess = [&](const HeadName& h) {
    return find_judged_cell(results_, metric::separability_excess, h);
  };
  const auto furthest = [&](double sign) {
    return best([&](const HeadName& h) -> std::optional<double> {
      const auto found = excess(h);
      return found ? std::optional(sign * found->value) : std::nullopt;
    });
  };
  const auto most = furthest(1), least = furthest(-1);
  if (!most) return std::nullopt;
  const auto by = [&](Line& line, const HeadName& h) -> Line& {
    return line.head(h).say(" (by ").number(*excess(h)).say(")");
  };
  // Without standard errors (few rows), no head was judged, which differs from none being found.
  const bool judged = std::any_of(heads_.begin(), heads_.end(), [&](const HeadName& h) {
    const auto found = excess(h);
    return found && std::isfinite(found->standard_error);
  });
  Line line;
  line.say("At N = ");
  line.label(results_, "top_n", *top_n);
  length(line.say(" of ")).say(", beyond the sinks, ");
  if (judged) {
    const auto worse = std::ranges::count_if(heads_, [&](const HeadName& h) {
      const auto found = excess(h);
      return found && !is_dormant(h) && no_better_than_chance(*found);
    });
    line.derived(static_cast<double>(worse)).say(" of ");
    line.whole({Line::Kind::heads}, static_cast<double>(heads_.size()));
    line.say(worse == 1 ? " heads separates its" : " heads separate their");
    line.say(" keys less well than with the pairing of weights and keys permuted");
    add_copies(line);
    by(by(line.say("; "), *most).say(" exceeds that most, "), *least).say(" least.");
    return line.done();
  }
  line.say("the share of separable keys exceeds that with the pairing of weights and keys ");
  if (heads_.size() > 1 && excess(*most)->value == excess(*least)->value) {
    return line.say("permuted by ").number(*excess(*most)).say(" in every head.").done();
  }
  return by(by(line.say("permuted most in "), *most).say(", least in "), *least).say(".").done();
}

MaybeLine Summary::spread() const {
  const auto fewest = smallest(metric::mass_90);
  const auto most = largest(metric::mass_90);
  if (!fewest || !most) return std::nullopt;
  Line line;
  line.constant("90").say(" % of the weight beyond the sinks lies on ");
  line.number(fewest->cell).say(" keys in ");
  line.head(fewest->head).say(" and on ").number(most->cell).say(" in ").head(most->head);
  return length(line.say(" at ")).say(".").done();
}

MaybeLine Summary::largest_key() const {
  const auto most = largest(metric::max_weight);
  const auto least = smallest(metric::max_weight);
  if (!most || !least) return std::nullopt;
  Line line;
  length(line.say("At "))
      .say(", the largest share beyond the sinks is ")
      .number(most->cell)
      .say(" in ");
  line.head(most->head).say(" and ").number(least->cell).say(" in ").head(least->head);
  return line.say(" on average.").done();
}

}  // namespace headgauge::summary
