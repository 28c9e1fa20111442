#include "experiments/converge_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "convergence/budget.hpp"
#include "convergence/rate.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/flags.hpp"
#include "headgauge/metric_names.hpp"
#include "results/declared.hpp"
#include "scan/output.hpp"

namespace headgauge {
namespace {

void add_all(const std::vector<double>& values, std::vector<double>& to) {
  to.resize(std::max(to.size(), values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) to[i] += values[i];
}

struct Found {
  HeadName name;
  const HeadConvergence* head;
  // Returns a cell of this head, by its indices along the dims after layer and head.
  std::vector<Index> cell(std::initializer_list<Index> inner = {}) const {
    std::vector<Index> cell = {name.layer_index, name.head_index};
    cell.insert(cell.end(), inner);
    return cell;
  }
};

// Returns the findings for the heads in the results, in the same order.
std::vector<Found> found_heads(const HeadConvergences& heads, const Results& results) {
  std::vector<Found> found;
  const auto layers = results.coord_numbers("layer"), columns = results.coord_numbers("head");
  for (std::size_t l = 0; l < layers.size(); ++l) {
    for (std::size_t h = 0; h < columns.size(); ++h) {
      const HeadName name{static_cast<Index>(l), static_cast<Index>(h), static_cast<int>(layers[l]),
                          static_cast<int>(columns[h])};
      const auto at = heads.find({name.layer, name.head});
      if (at != heads.end() && at->second.documents > 0) found.push_back({name, &at->second});
    }
  }
  return found;
}

// Returns c if the normalizer is softmax(c l), whose logits spread c times as far as the model's.
// Returns nothing for other normalizers, and if l is a cosine, because H is defined for queries and
// keys of their original norm.
std::optional<double> logit_scale(const Normalizer& normalizer, Index length) {
  if (normalizer.traits().unit_norms) return std::nullopt;
  return normalizer.softmax_scale({length, length - 1});
}

void write_horizons(const std::vector<Found>& heads, const ConvergeOptions& options,
                    Results& results) {
  LabelledArray& horizon = add_declared(results, metric::horizon);
  LabelledArray& paper = add_declared(results, metric::horizon_paper);
  LabelledArray& rate = add_declared(results, metric::rate_predicted);
  LabelledArray& constant = add_declared(results, metric::error_constant);
  const Normalizer& normalizer = *options.scan.own_normalizer;
  const auto length = static_cast<Index>(options.scan.lengths.back());
  const std::optional<double> scale = logit_scale(normalizer, length);
  for (const Found& found : heads) {
    const HeadConvergence& head = *found.head;
    horizon.set(found.cell(), {head.horizon});
    paper.set(found.cell(), {head.horizon_paper});
    if (scale) rate.set(found.cell(), {predicted_rate(*scale * head.horizon)});
    if (head.budgets > 0) constant.set(found.cell(), {head.error_constant});
  }
}

// Writes the errors of the mean or of the covariance, and their rate.
void write_curve(const std::string& kind, const std::vector<Found>& heads,
                 const ErrorCurve HeadConvergence::*curve, const ConvergeOptions& options,
                 Results& results) {
  LabelledArray& relative = add_declared(results, fmt::format("error_{}", kind));
  LabelledArray& absolute = add_declared(results, fmt::format("error_{}_absolute", kind));
  LabelledArray& rate = add_declared(results, fmt::format("rate_{}", kind));
  LabelledArray& floored = add_declared(results, fmt::format("points_under_floor_{}", kind));
  for (LabelledArray* of : {&relative, &absolute, &rate}) of->with_standard_errors();
  rate.with_rows();
  const std::vector<double> tokens(options.grid.begin(), options.grid.end());
  const double root = std::sqrt(static_cast<double>(options.replicates));
  for (const Found& found : heads) {
    const ErrorCurve& errors = found.head->*curve;
    if (errors.documents == 0) continue;
    std::vector<double> deviations;
    for (std::size_t p = 0; p < tokens.size(); ++p) {
      const auto cell = found.cell({static_cast<Index>(p)});
      if (errors.relative_documents > 0) {
        relative.set(cell, {errors.relative[p], std::sqrt(errors.variance[p]) / root});
      }
      deviations.push_back(std::sqrt(errors.variance_absolute[p]));
      absolute.set(cell, {errors.absolute[p], deviations.back() / root});
    }
    const RateFit fit =
        fit_rate(tokens, errors.absolute, deviations, options.replicates, errors.floor);
    rate.set(found.cell(), {fit.rate, fit.standard_error, fit.points, fit.degrees_of_freedom()});
    floored.set(found.cell(), {static_cast<double>(fit.under_floor)});
  }
}

void write_budgets(const std::vector<Found>& heads, const ConvergeOptions& options,
                   const SourceInfo& info, Results& results) {
  LabelledArray& needed = add_declared(results, metric::tokens_for_error);
  LabelledArray& budget = add_declared(results, metric::budget_keys);
  const auto each_cell = [&](const auto& visit) {
    for (Index t = 0; t < std::ssize(options.tolerances); ++t) {
      for (Index s = 0; s < std::ssize(kSamplers); ++s) visit(t, s);
    }
  };
  for (const Found& found : heads) {
    const HeadConvergence& head = *found.head;
    if (head.budgets == 0) continue;
    each_cell([&](Index t, Index s) {
      const auto& errors = head.budget_error[static_cast<std::size_t>(s)];
      const double tolerance = options.tolerances[static_cast<std::size_t>(t)];
      needed.set(found.cell({t, s}), {keys_for_error(head.budget_points, errors, tolerance)});
    });
  }
  // Heads that share keys share a budget.
  const int group = std::max(1, info.heads / std::max(1, info.kv_heads));
  for (const Found& found : heads) {
    each_cell([&](Index t, Index s) {
      double most = kUndefined;
      for (const Found& other : heads) {
        if (other.name.layer != found.name.layer) continue;
        if (other.name.head / group != found.name.head / group) continue;
        most = std::fmax(most, needed.at(other.cell({t, s})).value);
      }
      budget.set(found.cell({t, s}), {most});
    });
  }
}

// Writes the bytes of keys and values per token of context: with the model's own cache, and with
// every group of heads limited to its budget.
void write_cache(const ConvergeOptions& options, const SourceInfo& info, bool all_layers,
                 Results& results) {
  constexpr Index kFull = 0, kBudget = 1;
  results.set_coord("cache", std::vector<std::string>{"full", "budget"});
  LabelledArray& layers = add_declared(results, metric::cache_bytes_by_layer);
  const auto tolerance = find_label(results, "tolerance", kServed);
  const double length = options.scan.lengths.back();
  const int group = std::max(1, info.heads / std::max(1, info.kv_heads));
  const Index values = info.value_dim > 0 ? info.value_dim : info.head_dim;
  const double key_bytes = static_cast<double>(info.head_dim + values) * info.element_bytes;
  const auto heads = results.coord_numbers("head");
  const auto names = results.coord_numbers("layer");
  double full = 0, kept = 0;
  for (std::size_t l = 0; l < names.size(); ++l) {
    const auto layer = static_cast<std::size_t>(names[l]);
    const double window =
        layer < info.windows.size() ? static_cast<double>(info.windows[layer]) : 0;
    const double seen = window > 0 ? std::min(window, length) : length;
    const double whole = info.kv_heads * key_bytes * seen / length;
    layers({static_cast<Index>(l), kFull}) = whole;
    full += whole;
    double keys = 0;
    for (int kv = 0; kv < info.kv_heads; ++kv) {
      const auto head = std::ranges::find(heads, static_cast<double>(kv * group));
      // Some heads of the layer were not measured.
      const auto cell = head == heads.end() || !tolerance
                            ? std::nullopt
                            : find_cell(results, metric::budget_keys,
                                        {{"layer", static_cast<Index>(l)},
                                         {"head", head - heads.begin()},
                                         {"tolerance", *tolerance},
                                         {"sampler", static_cast<Index>(Sampler::recent)}});
      keys += cell ? std::min(cell->value, seen) : kUndefined;
    }
    const double budgeted = keys * key_bytes / length;
    layers({static_cast<Index>(l), kBudget}) = budgeted;
    kept += budgeted;
  }
  if (!all_layers) return;
  add_declared(results, metric::cache_bytes).values = {full, kept};
}

void write_notices(const std::vector<Found>& heads, const ConvergeOptions& options,
                   const SourceInfo& info, Results& results) {
  const auto say = [&](std::string notice) { results.notices.push_back(std::move(notice)); };
  if (!info.has_values) {
    say("there are no values: the errors of the outputs and the budgets are left out");
  }
  if (!info.has_unrotated) {
    say("queries and keys are rotated by their positions, and those before the rotation are not "
        "known: horizon and rate_predicted are left out");
  }
  const auto length = static_cast<Index>(options.scan.lengths.back());
  const bool windows = std::ranges::any_of(
      info.windows, [=](Index window) { return window > 0 && window < length; });
  if (windows) {
    say("layers with a sliding window: their errors are those of the last tokens that fit into it");
  }
  const Normalizer& normalizer = *options.scan.own_normalizer;
  if (!logit_scale(normalizer, length)) {
    say(fmt::format("{} is not softmax(c <q, k>): paper B predicts no rate for it (rate_predicted)",
                    options.scan.normalizer));
  }
  int floored = 0, without = 0;
  for (const char* kind : {"mean", "covariance"}) {
    for (const Found& found : heads) {
      const std::initializer_list<Pick> of{{"layer", found.name.layer_index},
                                           {"head", found.name.head_index}};
      const auto left_out = find_cell(results, fmt::format("points_under_floor_{}", kind), of);
      floored += left_out ? static_cast<int>(left_out->value) : 0;
      without += find_cell(results, fmt::format("rate_{}", kind), of) ? 0 : 1;
    }
  }
  if (floored > 0) {
    say(
        fmt::format("{} errors are so small that rounding may make them: they are left out of the "
                    "rates (points_under_floor_mean, _covariance)",
                    floored));
  }
  if (without > 0 && info.has_values) {
    say(fmt::format("{} of {} rates are absent: fewer than {} usable points", without,
                    2 * heads.size(), kFewestRatePoints));
  }
}

}  // namespace

void ErrorCurve::add(const std::vector<Spread>& errors, double unit, double absolute_floor) {
  for (auto* of : {&relative, &absolute, &variance, &variance_absolute}) of->resize(errors.size());
  ++documents;
  floor = std::max(floor, absolute_floor);
  const bool is_relative = unit > absolute_floor;
  relative_documents += is_relative ? 1 : 0;
  for (std::size_t p = 0; p < errors.size(); ++p) {
    absolute[p] += errors[p].mean;
    variance_absolute[p] += errors[p].deviation * errors[p].deviation;
    if (!is_relative) continue;
    relative[p] += errors[p].mean / unit;
    variance[p] += errors[p].deviation * errors[p].deviation / (unit * unit);
  }
}

void ErrorCurve::add(const ErrorCurve& other) {
  add_all(other.relative, relative);
  add_all(other.absolute, absolute);
  add_all(other.variance, variance);
  add_all(other.variance_absolute, variance_absolute);
  floor = std::max(floor, other.floor);
  documents += other.documents;
  relative_documents += other.relative_documents;
}

void ErrorCurve::write(ByteWriter& part) const {
  for (const auto* list : {&relative, &absolute, &variance, &variance_absolute}) {
    part.put_list(*list);
  }
  part.put(floor);
  part.put(documents);
  part.put(relative_documents);
}

void ErrorCurve::read(ByteReader& part) {
  for (auto* list : {&relative, &absolute, &variance, &variance_absolute}) {
    *list = part.take_list<double>();
  }
  floor = part.take<double>();
  documents = part.take<int>();
  relative_documents = part.take<int>();
}

void ErrorCurve::divide() {
  const double all = std::max(1, documents), some = std::max(1, relative_documents);
  for (std::size_t p = 0; p < absolute.size(); ++p) {
    absolute[p] /= all;
    variance_absolute[p] /= all * all;
    relative[p] /= some;
    variance[p] /= some * some;
  }
}

void HeadConvergence::add(const HeadConvergence& other) {
  documents += other.documents;
  horizon += other.horizon;
  horizon_paper += other.horizon_paper;
  mean.add(other.mean);
  covariance.add(other.covariance);
  if (budgets > 0 && other.budgets > 0 && budget_points != other.budget_points) {
    throw DamagedPartError("parts with the same numbers of keys", "parts with others");
  }
  budgets += other.budgets;
  if (other.budgets > 0) budget_points = other.budget_points;
  budget_error.resize(std::max(budget_error.size(), other.budget_error.size()));
  for (std::size_t s = 0; s < other.budget_error.size(); ++s) {
    add_all(other.budget_error[s], budget_error[s]);
  }
  error_constant += other.error_constant;
}

void HeadConvergence::write(ByteWriter& part) const {
  part.put(documents);
  part.put(horizon);
  part.put(horizon_paper);
  mean.write(part);
  covariance.write(part);
  part.put(budgets);
  part.put_list(budget_points);
  part.put(static_cast<std::uint64_t>(budget_error.size()));
  for (const std::vector<double>& of_sampler : budget_error) part.put_list(of_sampler);
  part.put(error_constant);
}

void HeadConvergence::read(ByteReader& part) {
  documents = part.take<int>();
  horizon = part.take<double>();
  horizon_paper = part.take<double>();
  mean.read(part);
  covariance.read(part);
  budgets = part.take<int>();
  budget_points = part.take_list<Index>();
  budget_error.clear();
  for (auto left = part.take<std::uint64_t>(); left > 0; --left) {
    budget_error.push_back(part.take_list<double>());
  }
  error_constant = part.take<double>();
}

void HeadConvergence::divide() {
  horizon /= documents;
  horizon_paper /= documents;
  mean.divide();
  covariance.divide();
  for (auto& sampler : budget_error) {
    for (double& error : sampler) error /= budgets;
  }
  if (budgets > 0) error_constant /= budgets;
}

void write_convergence(const HeadConvergences& all, const ConvergeOptions& options,
                       const SourceInfo& info, Results& results) {
  const std::vector<Found> heads = found_heads(all, results);
  results.set_coord("tokens", std::vector<double>(options.grid.begin(), options.grid.end()));
  results.set_coord("tolerance", options.tolerances);
  results.set_coord("sampler",
                    std::vector<std::string>(std::begin(kSamplerNames), std::end(kSamplerNames)));
  results.command = Command::converge;
  ConvergeOptions written = options;
  write_settings(options_of(written), results.settings);
  write_horizons(heads, options, results);
  if (info.has_values) {
    write_curve("mean", heads, &HeadConvergence::mean, options, results);
    write_curve("covariance", heads, &HeadConvergence::covariance, options, results);
    write_budgets(heads, options, info, results);
    const bool all_layers =
        !results.partial && results.coord_size("layer") == std::ssize(info.attention_layers());
    // The size of the keys is unknown for a dump of scores.
    if (info.causal && info.head_dim > 0) write_cache(options, info, all_layers, results);
  }
  write_notices(heads, options, info, results);
  results.flags = find_flags(results);
}

}  // namespace headgauge
