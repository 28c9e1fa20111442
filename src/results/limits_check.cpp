// Limits against the values of a diff.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "headgauge/diff.hpp"
#include "results/head_labels.hpp"
#include "results/run_pairs.hpp"

namespace headgauge {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

class Checker {
 public:
  Checker(const Results& diff, const Limit& limit) : diff_(diff), limit_(limit) {}

  LimitCheck run() {
    const MetricArray* array = diff_.metric(limit_.metric);
    if (array == nullptr || !has_dim(*array, "run")) {
      fail("metric", "a metric that was compared", "\"" + limit_.metric + "\"",
           "these were: " + compared());
    }
    const PairedMetric metric(diff_, limit_.metric);
    choose_heads(metric);
    choose_labels(metric);
    metric.each([&](const RunPair& pair) {
      if (chosen(metric, pair.cell)) check(metric, pair);
    });
    if (check_.values == 0) {
      fail("", "a value that both runs have", fmt::format("none of {}", limit_.metric),
           "correct the limit, or measure it in both");
    }
    return check_;
  }

 private:
  [[noreturn]] void fail(const std::string& key, const std::string& expected,
                         const std::string& found, const std::string& advice) const {
    const std::string place = key.empty() ? limit_.place : limit_.place + ": " + key;
    throw BadInputError(fault(place, legible(expected), legible(found), legible(advice)));
  }

  std::string compared() const {
    std::vector<std::string> names;
    for (const auto& [name, metric] : diff_.metrics) {
      if (has_dim(metric, "run") && !name.ends_with("_by_position")) names.push_back(name);
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  void choose_heads(const PairedMetric& metric) {
    if (limit_.heads.empty()) return;
    const auto& dims = metric.dims();
    if (dims.size() < 2 || dims[0] != "layer" || dims[1] != "head") {
      fail("heads", fmt::format("none, as {} is not of single heads", limit_.metric),
           "\"" + limit_.heads + "\"", "leave it out");
    }
    try {
      heads_ = select_heads(diff_, limit_.heads);
    } catch (const UsageError&) {
      fail("heads", "heads of both runs as layer.head, such as 3.5,7.*", "\"" + limit_.heads + "\"",
           fmt::format("both have the layers {} and the heads {}",
                       labels_text(*diff_.coord("layer")), labels_text(*diff_.coord("head"))));
    }
  }

  // Along each dim the places that `where` leaves.
  void choose_labels(const PairedMetric& metric) {
    places_.assign(metric.dims().size(), {});
    for (const auto& [dim, labels] : limit_.where) {
      const auto it = std::ranges::find(metric.dims(), dim);
      if (it == metric.dims().end()) {
        fail("where", fmt::format("dims of {} ({})", limit_.metric, fmt::join(metric.dims(), ", ")),
             "\"" + dim + "\"", "correct the limit");
      }
      const auto shared = shared_labels("", *diff_.coord(dim), labels);
      const auto asked = std::visit([](const auto& list) { return list.size(); }, labels);
      if (shared.size() < asked) {
        fail("where", fmt::format("labels of {} that both runs have", dim), labels_text(labels),
             "they share " + labels_text(*diff_.coord(dim)));
      }
      auto& places = places_[static_cast<std::size_t>(it - metric.dims().begin())];
      for (const SharedLabel& label : shared) places.insert(label.before);
    }
  }

  bool chosen(const PairedMetric& metric, const std::vector<Index>& cell) const {
    for (std::size_t k = 0; k < cell.size(); ++k) {
      if (!places_[k].empty() && !places_[k].contains(cell[k])) return false;
    }
    if (limit_.heads.empty() || metric.dims().size() < 2) return true;
    return heads_.contains(head_label(diff_, "layer", cell[0]), head_label(diff_, "head", cell[1]));
  }

  void check(const PairedMetric& metric, const RunPair& pair) {
    if (std::isnan(pair.before)) {
      if (!std::isnan(pair.after)) ++check_.unchecked;
      return;
    }
    ++check_.values;
    const double change = pair.after - pair.before;
    const bool undefined = std::isnan(pair.after);
    const bool one_side =
        may_lack(limit_.metric) && !undefined && (pair.before < 0) != (pair.after < 0);
    // "None found" is above every N.
    const bool increase = one_side ? pair.after < 0 : change > 0;
    const double most = increase ? limit_.max_increase : limit_.max_decrease;
    double excess = kInfinite;
    double allowed = 0;
    if (!undefined) {
      if (std::isinf(most) || change == 0) return;
      allowed = limit_.relative ? most * std::abs(pair.before) : most;
      const double error = std::isnan(pair.error()) ? 0 : pair.error();
      if (!one_side) excess = std::abs(change) - allowed - limit_.errors * error;
      if (!(excess > 0)) return;
    }
    if (++check_.exceeded > 1 && excess <= excess_) return;
    excess_ = excess;
    check_.worst = metric.described(limit_.metric, pair);
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
