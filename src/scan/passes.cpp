#include "scan/passes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <numeric>

#include "headgauge/cells.hpp"
#include "headgauge/journal.hpp"
#include "measures/dispersion.hpp"
#include "scan/output.hpp"

namespace headgauge {

namespace {

// Combines passes into one progress, each weighted by its length.
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

// Returns a sentence for each intervention that some pass lacks.
std::vector<std::string> missing_interventions(const std::vector<Results>& passes) {
  std::vector<std::string> notices;
  const std::string dim = intervention_dimension(passes.back());
  if (dim.empty()) return notices;
  for (const Results& pass : passes) {
    for (const Results& other : passes) {
      for (const std::string& label : other.coord_names(dim)) {
        if (pass.require_coord(dim).find(label)) continue;
        std::string notice = fmt::format("{} is left out at length {:.0f}", label,
                                         pass.coord_numbers("length").front());
        if (std::ranges::find(notices, notice) == notices.end()) notices.push_back(notice);
      }
    }
  }
  return notices;
}

}  // namespace

Results merge_lengths(std::vector<Results> passes) {
  const Results& longest = passes.back();
  Results merged = longest;
  merged.metrics.clear();
  std::vector<double> lengths;
  for (const Results& pass : passes) lengths.push_back(pass.coord_numbers("length").front());
  merged.set_coord("length", lengths);
  merged.settings["lengths"] = std::vector<int>(lengths.begin(), lengths.end());
  for (const auto& [name, metric] : longest.metrics) {
    if (!metric.has_dim("length")) {
      merged.add_metric(name, metric);
      continue;
    }
    // Takes from every pass the cells that the longest also has: an intervention may have failed
    // there.
    std::vector<Dimension> dims = metric.dims();
    *std::ranges::find(dims, "length", &Dimension::name) = merged.require_coord("length");
    LabelledArray whole = undefined_like(metric, std::move(dims));
    for (const Results& pass : passes) {
      const LabelledArray* own = pass.metric(name);
      if (own != nullptr && own->dim_names() == metric.dim_names()) whole.put_labelled(*own);
    }
    merged.add_metric(name, std::move(whole));
  }
  std::ranges::copy(missing_interventions(passes), std::back_inserter(merged.notices));
  for (std::size_t k = 0; k + 1 < passes.size(); ++k) merged.timings += passes[k].timings;
  return merged;
}

Results pass_over_lengths(HeadSource& source, const ResolvedScan& plan, const Pass& pass,
                          Progress* progress) {
  const std::vector<int>& lengths = plan.options.lengths;
  // Refuses an invalid length before work begins.
  for (const int length : lengths) source.set_context(length);
  PassProgress whole(progress, lengths);
  std::vector<Results> passes;  // longest first, because it is the most informative
  bool stopped = false;
  for (auto length = lengths.rbegin(); length != lengths.rend() && !stopped; ++length) {
    source.set_context(*length);
    whole.begin(*length);
    const Journal::Stage stage(plan.options.journal, fmt::format("length {}", *length));
    Results results = pass(plan.at_length(*length), progress != nullptr ? &whole : nullptr);
    stopped = results.partial;
    if (!stopped || passes.empty()) passes.push_back(std::move(results));
  }
  if (!plan.options.journal.get().has_all()) {
    Results nothing;
    nothing.partial = stopped;
    return nothing;
  }
  std::ranges::reverse(passes);
  const std::size_t finished = passes.size();
  Results merged = merge_lengths(std::move(passes));
  merged.partial = stopped;
  merged.settings["lengths"] = lengths;
  // The longest pass judged short documents alone; its notices are replaced.
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
  const std::vector<std::string> derived = derive_over_lengths(merged);
  if (const std::string dim = intervention_dimension(merged); !dim.empty()) {
    for (const std::string& name : derived) {
      if (merged.require_metric(name).has_dim(dim)) add_change(name, dim, merged);
    }
  }
  return merged;
}

void add_change(const std::string& name, const std::string& dim, Results& merged) {
  const LabelledArray& metric = merged.require_metric(name);
  const LabelledArray original = metric.isel(dim, 0);
  LabelledArray change(metric.dims(), metric.unit);
  change.change_of = name;
  if (!metric.standard_error.empty()) change.with_standard_errors();
  for (Index run = 0; run < metric.dim(dim).size(); ++run) {
    LabelledArray of_run = difference(original, metric.isel(dim, run));
    // The change of the original is exactly 0.
    if (run == 0) {
      for (double& error : of_run.standard_error) error *= 0;
    }
    change.put(dim, run, of_run);
  }
  merged.add_metric(name + "_change", std::move(change));
}

void merge_runs(std::span<const Results* const> runs, const std::string& dim,
                const std::function<bool(const LabelledArray&)>& wanted, Results& merged) {
  for (const auto& [name, original] : runs.front()->metrics) {
    if (!wanted(original)) continue;
    std::vector<const LabelledArray*> parts;
    for (const Results* run : runs) parts.push_back(run->metric(name));
    merged.add_metric(name, stack(parts, merged.require_coord(dim)));
    // The other metrics have a meaningful difference.
    if (original.has_dim("position") || original.identifier) continue;
    add_change(name, dim, merged);
  }
}

}  // namespace headgauge
