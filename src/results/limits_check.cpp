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
    if (check_.values + check_.unchecked == 0) {
      fail("", "a value that both runs have", fmt::format("none of {}", limit_.metric),
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

  // How far a pair is beyond what is allowed; below or at 0: it is not.
  void check(const PairedMetric& metric, const RunPair& pair) {
    if (std::isnan(pair.before)) {
      if (!std::isnan(pair.after)) ++check_.unchecked;
      return;
    }
    ++check_.values;
    double change = pair.after - pair.before;
    double error = pair.error();
    if (std::isnan(error)) error = 0;
    bool beyond = std::isnan(pair.after);
    // "None found" is above every N.
    if (may_lack(limit_.metric) && (pair.before < 0) != (pair.after < 0) && !beyond) {
      change = pair.after < 0 ? kInfinite : -kInfinite;
    }
    const double unit = limit_.relative ? std::abs(pair.before) : 1;
    const double most = change > 0 ? limit_.max_increase : limit_.max_decrease;
    const double allowed = std::isinf(most) ? kInfinite : most * unit;
    double excess = kInfinite;
    if (!beyond) {
      if (std::isinf(allowed)) return;
      excess = std::abs(change) - allowed - limit_.errors * error;
      beyond = excess > 0;
    }
    if (!beyond) return;
    if (++check_.exceeded > 1 && excess <= excess_) return;
    excess_ = excess;
    check_.worst = metric.described(limit_.metric, pair);
    check_.allowed = allowed;
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
