#include "scan/passes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "measures/dispersion.hpp"
#include "results/longest.hpp"
#include "scan/merge.hpp"
#include "scan/output.hpp"

namespace headgauge {
namespace {

// Passes as one progress, each as large as its length.
class PassProgress final : public Progress {
 public:
  PassProgress(Progress* whole, std::span<const int> lengths)
      : whole_(whole), total_(std::accumulate(lengths.begin(), lengths.end(), 0.0)) {}
  void begin(int length) {
    before_ += length_;
    length_ = length;
  }
  void update(std::string_view what, double done, double total) override {
    const double part = total > 0 ? done / total : 1;
    whole_->update(fmt::format("length {}: {}", length_, what), before_ + part * length_, total_);
  }

 private:
  Progress* whole_;
  double total_;
  double before_ = 0;
  int length_ = 0;
};

// Where each entry of one run's coordinate stands in that of another; -1: nowhere.
std::vector<Index> places(const Results& from, const Results& in, const std::string& dim) {
  std::vector<Index> found(static_cast<std::size_t>(from.coord_size(dim)));
  std::iota(found.begin(), found.end(), Index{0});
  const auto* labels = std::get_if<std::vector<std::string>>(from.coord(dim));
  if (labels == nullptr) return found;
  const auto& others = std::get<std::vector<std::string>>(*in.coord(dim));
  for (std::size_t i = 0; i < labels->size(); ++i) {
    const auto at = std::ranges::find(others, (*labels)[i]);
    found[i] = at == others.end() ? -1 : at - others.begin();
  }
  return found;
}

// Puts the cells of a pass where they belong at entry `length` of the merged metric.
void put_pass(const Results& pass, const MetricArray& from, Index length, const Results& merged,
              MetricArray& to) {
  std::vector<std::vector<Index>> places_of;
  for (const std::string& dim : from.dims) places_of.push_back(places(pass, merged, dim));
  std::vector<Index> cell(from.dims.size());
  for (std::size_t at = 0; at < from.values.size(); ++at) {
    auto rest = static_cast<Index>(at);
    bool known = true;
    for (std::size_t d = from.dims.size(); d-- > 0;) {
      const auto size = std::ssize(places_of[d]);
      cell[d] =
          from.dims[d] == "length" ? length : places_of[d][static_cast<std::size_t>(rest % size)];
      known = known && cell[d] >= 0;
      rest /= size;
    }
    if (!known) continue;
    const auto target = static_cast<std::size_t>(merged.flat_index(to, cell));
    to.values[target] = from.values[at];
    if (!from.standard_error.empty() && !to.standard_error.empty())
      to.standard_error[target] = from.standard_error[at];
    if (!from.rows.empty() && !to.rows.empty()) to.rows[target] = from.rows[at];
  }
}

// The interventions that some pass does not have, in a sentence each.
std::vector<std::string> missing_interventions(const std::vector<Results>& passes) {
  std::vector<std::string> notices;
  const std::string dim = intervention_dimension(passes.back());
  if (dim.empty()) return notices;
  for (const Results& pass : passes) {
    for (const Results& other : passes) {
      const auto& labels = std::get<std::vector<std::string>>(*other.coord(dim));
      const std::vector<Index> there = places(other, pass, dim);
      for (std::size_t i = 0; i < labels.size(); ++i) {
        if (there[i] >= 0) continue;
        std::string notice = fmt::format("{} is left out at length {:.0f}", labels[i],
                                         pass.coord_numbers("length").front());
        if (std::ranges::find(notices, notice) == notices.end()) notices.push_back(notice);
      }
    }
  }
  return notices;
}

double seconds(const std::vector<Results>& passes, const std::string& stage) {
  double sum = 0;
  for (const Results& pass : passes) sum += pass.timings.value(stage, 0.0);
  return sum;
}

}  // namespace

Results merge_lengths(std::vector<Results> passes) {
  Results merged = passes.back();
  std::vector<double> lengths;
  for (const Results& pass : passes) lengths.push_back(pass.coord_numbers("length").front());
  merged.set_coord("length", lengths);
  merged.settings["lengths"] = std::vector<int>(lengths.begin(), lengths.end());
  for (auto& [name, metric] : merged.metrics) {
    if (!has_dim(metric, "length")) continue;
    const std::size_t cells = metric.values.size() * lengths.size();
    metric.values.assign(cells, kUndefined);
    if (!metric.standard_error.empty()) metric.standard_error.assign(cells, kUndefined);
    if (!metric.rows.empty()) metric.rows.assign(cells, 0);
    for (std::size_t k = 0; k < passes.size(); ++k) {
      const MetricArray* part = passes[k].metric(name);
      if (part == nullptr || part->dims != metric.dims) continue;
      put_pass(passes[k], *part, static_cast<Index>(k), merged, metric);
    }
  }
  std::ranges::copy(missing_interventions(passes), std::back_inserter(merged.notices));
  for (const auto& [stage, value] : passes.back().timings.items()) {
    merged.timings[stage] = seconds(passes, stage);
  }
  return merged;
}

Results pass_over_lengths(HeadSource& source, const ScanPlan& plan, const Pass& pass,
                          Progress* progress) {
  const std::vector<int>& lengths = plan.options.lengths;
  // A length that does not fit is told before work begins.
  for (const int length : lengths) source.set_context(length);
  PassProgress whole(progress, lengths);
  std::vector<Results> passes;  // the longest, which has most to tell, first
  bool stopped = false;
  for (auto length = lengths.rbegin(); length != lengths.rend() && !stopped; ++length) {
    source.set_context(*length);
    whole.begin(*length);
    Results results = pass(plan.at_length(*length), progress != nullptr ? &whole : nullptr);
    stopped = results.partial;
    if (!stopped || passes.empty()) passes.push_back(std::move(results));
  }
  std::ranges::reverse(passes);
  const std::size_t finished = passes.size();
  Results merged = merge_lengths(std::move(passes));
  merged.partial = stopped;
  merged.settings["lengths"] = lengths;
  // Documents that are too short were judged by the longest pass alone.
  const std::vector<int> longest = {lengths.back()};
  for (const std::string& notice : short_document_notices(longest, source.info(), merged)) {
    std::erase(merged.notices, notice);
  }
  std::ranges::copy(short_document_notices(lengths, source.info(), merged),
                    std::back_inserter(merged.notices));
  if (finished < lengths.size()) {
    merged.notices.push_back(
        fmt::format("interrupted: the lengths {} are left out",
                    fmt::join(std::span(lengths).first(lengths.size() - finished), ", ")));
  }
  derive_over_lengths(merged);
  if (const std::string dim = intervention_dimension(merged); !dim.empty()) {
    for (const char* name : {"entropy_slope", "max_weight_slope", "effective_tokens_forecast"}) {
      if (merged.metric(name) != nullptr) add_change(name, dim, merged);
    }
  }
  return merged;
}

}  // namespace headgauge
