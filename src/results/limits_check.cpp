// Checks limits against the values of a diff.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "headgauge/cells.hpp"
#include "headgauge/diff.hpp"
#include "headgauge/text.hpp"
#include "results/pairs.hpp"

namespace headgauge {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

class Checker {
 public:
  Checker(const Results& diff, const Limit& limit) : diff_(diff), limit_(limit) {}

  LimitCheck run() {
    const LabelledArray* array = diff_.metric(limit_.metric);
    if (array == nullptr || !array->has_dim("run")) {
      fail("metric", "a metric that was compared",
           in_quotes(limit_.metric) + metric_hint(limit_.metric, compared()),
           fmt::format("these were: {}", fmt::join(compared(), ", ")));
    }
    const MetricPairs metric(diff_, limit_.metric);
    choose_heads(metric);
    choose_labels(metric);
    metric.each([&](const Pair& pair) {
      if (chosen(metric, pair.cell)) check(metric, pair);
    });
    if (check_.values == 0) {
      fail("", "a value that both runs have", fmt::format("no value of {}", limit_.metric),
           "correct the limit, or measure it in both");
    }
    return check_;
  }

 private:
  [[noreturn]] void fail(const std::string& key, const std::string& expected,
                         const std::string& found, const std::string& advice) const {
    const std::string place = key.empty() ? limit_.place : limit_.place + ": " + key;
    throw BadInputError(fault(place, expected, found, advice));
  }

  std::vector<std::string> compared() const {
    std::vector<std::string> names;
    for (const auto& [name, metric] : diff_.metrics) {
      if (metric.has_dim("run") && !metric.has_dim("position")) names.push_back(name);
    }
    return names;
  }

  void choose_heads(const MetricPairs& metric) {
    if (limit_.heads.empty()) return;
    if (!metric.of_heads()) {
      fail("heads", fmt::format("none, as {} is not of single heads", limit_.metric),
           "\"" + limit_.heads + "\"", "leave it out");
    }
    try {
      heads_ = select_heads(diff_, limit_.heads);
    } catch (const UsageError&) {
      fail("heads", "heads of both runs as layer.head, such as 3.5,7.*", "\"" + limit_.heads + "\"",
           fmt::format("both have the layers {} and the heads {}",
                       labels_text(diff_.coord("layer")->labels()),
                       labels_text(diff_.coord("head")->labels())));
    }
  }

  // Finds the indices along each dim that `where` selects.
  void choose_labels(const MetricPairs& metric) {
    places_.assign(metric.dims().size(), {});
    for (const auto& [dim, labels] : limit_.where) {
      const auto it = std::ranges::find(metric.dims(), dim, &Dimension::name);
      if (it == metric.dims().end()) {
        std::vector<std::string> names;
        for (const Dimension& of : metric.dims()) names.push_back(of.name());
        fail("where", fmt::format("dims of {} ({})", limit_.metric, fmt::join(names, ", ")),
             "\"" + dim + "\"", "correct the limit");
      }
      // A position without its name is compared like any other label.
      const Dimension asked("", labels);
      const auto shared = shared_places(it->renamed(""), asked);
      if (std::ssize(shared) < asked.size()) {
        fail("where", fmt::format("labels of {} that both runs have", dim), labels_text(labels),
             "they share " + labels_text(it->labels()));
      }
      auto& places = places_[it - metric.dims().begin()];
      for (const SharedPlace& place : shared) places.insert(place.first);
    }
  }

  bool chosen(const MetricPairs& metric, std::span<const Index> cell) const {
    for (std::size_t k = 0; k < cell.size(); ++k) {
      if (!places_[k].empty() && !places_[k].contains(cell[k])) return false;
    }
    if (limit_.heads.empty() || metric.dims().size() < 2) return true;
    return heads_.contains(head_label(diff_, "layer", cell[0]), head_label(diff_, "head", cell[1]));
  }

  void check(const MetricPairs& metric, const Pair& pair) {
    if (std::isnan(pair.before)) {
      if (!std::isnan(pair.after)) ++check_.unchecked;
      return;
    }
    ++check_.values;
    const double change = pair.after - pair.before;
    const bool undefined = std::isnan(pair.after);
    const bool one_side = !undefined && metric.is_none(pair.before) != metric.is_none(pair.after);
    // "None found" counts as larger than every N.
    const bool increase = one_side ? metric.is_none(pair.after) : change > 0;
    const double most = increase ? limit_.max_increase : limit_.max_decrease;
    double excess = kInfinite;
    double allowed = 0;
    if (!undefined) {
      if (std::isinf(most) || change == 0) return;
      allowed = limit_.relative ? most * std::abs(pair.before) : most;
      const double error = std::isnan(pair.standard_error) ? 0 : pair.standard_error;
      if (!one_side) excess = std::abs(change) - allowed - limit_.errors * error;
      if (!(excess > 0)) return;
    }
    if (++check_.exceeded > 1 && excess <= excess_) return;
    excess_ = excess;
    check_.worst = metric.described(pair);
    check_.allowed = allowed;
    check_.found_on_one_side = one_side;
  }

  const Results& diff_;
  const Limit& limit_;
  HeadSelection heads_;
  std::vector<std::set<Index>> places_;  // empty: all
  LimitCheck check_;
  double excess_ = 0;
};

}  // namespace

std::vector<LimitCheck> check_limits(const Results& diff, std::span<const Limit> limits) {
  std::vector<LimitCheck> checks;
  for (const Limit& limit : limits) checks.push_back(Checker(diff, limit).run());
  return checks;
}

}  // namespace headgauge
