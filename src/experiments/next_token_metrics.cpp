#include "experiments/next_token_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "headgauge/bytes.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "results/declared.hpp"
#include "results/mean_of.hpp"
#include "scan/statistics.hpp"

namespace headgauge {
namespace {

constexpr double kLost = 0.1;  // nats: what copying must lose before it counts

using Series = std::vector<std::vector<double>>;  // document -> values

Series divergences(const Predictions& predictions) {
  Series series;
  for (const NextTokens& next : predictions) series.push_back(next.divergence);
  return series;
}

// Returns 1 where both predict the same most likely token, else 0.
Series agreements(const SourceInfo& source, const Predictions& of, const Predictions& with) {
  Series series(of.size());
  for (std::size_t d = 0; d < of.size(); ++d) {
    if (!source.is_text(static_cast<Index>(d))) continue;
    if (of[d].likeliest.size() != with[d].likeliest.size()) {
      throw DamagedPartError("as many predictions as the model itself has", "another number");
    }
    for (std::size_t t = 0; t < of[d].likeliest.size(); ++t) {
      series[d].push_back(of[d].likeliest[t] == with[d].likeliest[t] ? 1 : 0);
    }
  }
  return series;
}

Series differences(const Series& of, const Series& from) {
  Series series = of;
  for (std::size_t d = 0; d < series.size(); ++d) {
    if (from[d].size() != series[d].size()) {
      throw DamagedPartError("as many losses as the model itself has", "another number");
    }
    for (std::size_t t = 0; t < series[d].size(); ++t) series[d][t] -= from[d][t];
  }
  return series;
}

using Place = std::pair<Index, Index>;  // document, index of its loss

struct TokenChange {
  double size;
  Place place;
};

bool is_larger(const TokenChange& a, const TokenChange& b) {
  return a.size != b.size ? a.size > b.size : a.place < b.place;
}

// Returns the change of every loss that both predictions have; those of controls are of the
// original alone.
std::vector<TokenChange> changes_of(const Predictions& original, const Predictions& changed) {
  std::vector<TokenChange> changes;
  for (Index d = 0; d < std::min(std::ssize(original), std::ssize(changed)); ++d) {
    const std::vector<double>& before = original[d].losses;
    const std::vector<double>& after = changed[d].losses;
    for (Index t = 0; t < std::min(std::ssize(before), std::ssize(after)); ++t) {
      const double size = std::abs(after[t] - before[t]);
      if (std::isfinite(size)) changes.push_back({size, {d, t}});
    }
  }
  return changes;
}

}  // namespace

NextTokenMetrics::NextTokenMetrics(const SourceInfo& source, std::vector<std::string> dims,
                                   const RepeatGaps& repeats, const TaskSet& tasks, bool curves,
                                   Results& results)
    : source_(source), results_(results), repeats_(repeats) {
  const std::vector<std::string> outer = dims;
  const auto add = [&](const char* name) {
    return &add_declared(results, name, dims).with_standard_errors().with_rows();
  };
  if (source.has_text()) {
    dims.insert(dims.end(), {kOutcome, "length"});
    loss_ = add(metric::loss);
    change_ = add(metric::loss_change);
    change_->change_of = metric::loss;
  }
  if (!tasks.empty()) answers_.emplace(tasks, outer, curves, results).add_changes(outer);
  if (!source.has_text()) return;
  dims = outer;
  dims.emplace_back("length");
  divergence_ = add(metric::kl);
  same_token_ = add(metric::same_token);
  if (!repeats.known()) return;
  results.set_coord("gap", repeats.labels());
  dims.back() = "gap";
  by_gap_ = add(metric::loss_by_gap);
  change_by_gap_ = add(metric::loss_change_by_gap);
  change_by_gap_->change_of = metric::loss_by_gap;
  reach_ = &add_declared(results, metric::reach, outer);
}

void NextTokenMetrics::put(std::span<const Index> cell, const Predictions& original,
                           const Predictions& intervention, std::optional<Index> whole) {
  if (answers_) {
    answers_->put(cell, intervention);
    answers_->put_change(cell, original, intervention);
  }
  if (loss_ == nullptr) return;
  const Series own = text_losses(source_, intervention);
  const Series change = differences(own, text_losses(source_, original));
  Series of_losing = whole ? change : Series();  // of the tokens whose queries lose keys
  for (std::vector<double>& of : of_losing) {
    of.erase(of.begin(), of.begin() + std::min(*whole, std::ssize(of)));
  }
  const Series divergence = divergences(intervention);
  const Series same = agreements(source_, intervention, original);
  std::vector<Index> full(cell.begin(), cell.end());
  full.push_back(0);
  std::vector<Index> of_text = full;  // the first outcome
  of_text.push_back(0);
  const auto lengths = results_.coord_numbers("length");
  for (Index l = 0; l < std::ssize(lengths); ++l) {
    full.back() = of_text.back() = l;
    const auto length = static_cast<Index>(lengths[l]);
    loss_->set(of_text, series_statistics(own, length - 1));
    change_->set(of_text, with_t_test(series_statistics(change, length - 1)));
    divergence_->set(full, series_statistics(divergence, length));
    same_token_->set(full, series_statistics(same, length - 1));
    if (!whole || length - 1 <= *whole) continue;
    if (of_losing_ == nullptr) {
      of_losing_ = &add_declared(results_, metric::loss_change_lost_keys, divergence_->dim_names())
                        .with_standard_errors()
                        .with_rows();
    }
    of_losing_->set(full, with_t_test(series_statistics(of_losing, length - 1 - *whole)));
  }
  if (by_gap_ == nullptr) return;
  const std::vector<Estimate> changes = repeats_.means(change);
  by_gap_->set_along(cell, repeats_.means(own));
  change_by_gap_->set_along(cell, changes);
  reach_->set(cell, {.value = first_octave_above(changes, kLost)});
}

std::vector<TokenLoss> find_token_losses(const SourceInfo& source,
                                         std::span<const Predictions> predictions, Index most) {
  std::set<Place> chosen;
  for (std::size_t k = 1; k < predictions.size(); ++k) {
    std::vector<TokenChange> changes = changes_of(predictions[0], predictions[k]);
    const Index kept = std::min(most, std::ssize(changes));
    std::ranges::partial_sort(changes, changes.begin() + kept, is_larger);
    for (Index i = 0; i < kept; ++i) chosen.insert(changes[i].place);
  }
  std::vector<TokenLoss> found;
  for (const auto& [document, at] : chosen) {
    // The predictions of a document are those of its last tokens.
    const Index first = source.documents[document] - std::ssize(predictions[0][document].losses);
    TokenLoss& token = found.emplace_back();
    token.document = static_cast<int>(document);
    token.position = first + at;
    if (!source.is_text(document)) token.task = source.answers[document].task;
    for (const Predictions& each : predictions) token.losses.push_back(each[document].losses[at]);
  }
  return found;
}

}  // namespace headgauge
