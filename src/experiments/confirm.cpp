// Tests interventions that lower the loss on one text on another text.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiments/gains.hpp"
#include "experiments/recommend.hpp"
#include "experiments/stages.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/journal.hpp"
#include "headgauge/metric_names.hpp"
#include "results/declared.hpp"

namespace headgauge {
namespace {

// Returns whether `chosen` applies its intervention to this head: it is the head, in the layer, or
// the intervention covers all.
bool is_of(const Candidate& chosen, int layer, int head) {
  if (!chosen.head) return true;
  return chosen.head->layer == layer && (chosen.head->head < 0 || chosen.head->head == head);
}

class Confirmation {
 public:
  Confirmation(HeadSource& unseen, const CompareOptions& options,
               std::span<const Intervention> interventions, Results& results)
      : unseen_(unseen),
        options_(options),
        interventions_(interventions),
        results_(results),
        dim_(intervention_dimension(results)),
        chosen_(choices(candidates(results), LossGains(results))) {
    // Only the loss is needed.
    options_.scan.measures = {"model"};
    options_.scan.layers.clear();
    options_.scan.heads.clear();
  }

  void run(Progress* progress, const std::stop_token& stop) {
    Results confirmed = results_;
    LabelledArray& change = add_confirmed(confirmed);
    const bool together = options_.each != Each::none && chosen_.size() > 1;
    StageProgress stages(progress, together ? 2 : 1);
    stages.begin(0, "confirm");
    if (!chosen_.empty() && !alone(change, confirmed, &stages, stop)) return stopped();
    stages.begin(1, "confirm together");
    if (together && !all_together(confirmed, &stages, stop)) return stopped();
    results_ = std::move(confirmed);
  }

 private:
  void stopped() {
    results_.partial = true;
    results_.notices.push_back("the other text was not finished: nothing is confirmed by it");
  }

  // Measures each choice alone; returns false if stopped.
  bool alone(LabelledArray& change, Results& confirmed, Progress* progress,
             const std::stop_token& stop) {
    const Journal::Stage stage(options_.scan.journal, "alone");
    const Results found = compare(unseen_, options_, by_intervention(), progress, stop);
    if (found.partial) return false;
    confirmed.settings["confirm_text"] = to_json(found.text);
    confirmed.settings["confirm_length"] = longest_length(found).value_or(0);
    for (const std::string& notice : found.notices) {
      confirmed.notices.push_back(fmt::format("on the other text: {}", notice));
    }
    const auto names = found.coord_names(dim_);
    for (const Candidate& candidate : chosen_) {
      Candidate there = candidate;
      const auto place = std::ranges::find(names, interventions_[of(candidate)].label);
      if (place == names.end()) continue;
      there.intervention = place - names.begin();
      const auto cell = cell_of(found, metric::loss_change, there);
      if (!cell) continue;
      change.set(cell_in(change, candidate),
                 found.require_metric(metric::loss_change).at(cell->index));
    }
    return true;
  }

  // Measures all choices together; returns false if stopped.
  bool all_together(Results& confirmed, Progress* progress, const std::stop_token& stop) {
    CompareOptions all = options_;
    all.each = Each::none;
    const Journal::Stage stage(all.scan.journal, "together");
    const Results found = compare(unseen_, all, std::vector{everything()}, progress, stop);
    if (found.partial) return false;
    const auto cell = find_cell(found, metric::loss_change, {{dim_, 1}});
    LabelledArray& metric = add_declared(confirmed, metric::loss_change_together, {})
                                .with_standard_errors()
                                .with_rows();
    if (cell) {
      metric.set(std::vector<Index>{}, found.require_metric(metric::loss_change).at(cell->index));
    }
    return true;
  }

  // Returns the index of the candidate's intervention; results list the original first, then the
  // finished interventions in order.
  std::size_t of(const Candidate& candidate) const {
    const std::string label = results_.require_coord(dim_).label(candidate.intervention);
    const auto found = std::ranges::find(interventions_, label, &Intervention::label);
    return static_cast<std::size_t>(found - interventions_.begin());
  }

  static LabelledArray& add_confirmed(Results& results) {
    std::vector<std::string> dims;
    for (const Dimension& dim : results.require_metric(metric::loss_change).dims()) {
      if (dim.name() != "length" && dim.name() != kOutcome) dims.push_back(dim.name());
    }
    return add_declared(results, metric::loss_change_confirmed, dims)
        .with_standard_errors()
        .with_rows();
  }

  std::vector<Index> cell_in(const LabelledArray& confirmed, const Candidate& candidate) const {
    std::vector<Index> cell;
    for (const Dimension& dim : confirmed.dims()) {
      cell.push_back(dim.name() == "layer"  ? candidate.head->layer_index
                     : dim.name() == "head" ? candidate.head->head_index
                                            : candidate.intervention);
    }
    return cell;
  }

  // Adds `from` to `to` in the heads of the candidate.
  static void put(const Candidate& candidate, const Intervention& from, Intervention& to) {
    to.heads.each([&](int layer, int head, HeadIntervention& of_head) {
      if (is_of(candidate, layer, head) && from.heads(layer, head).changes()) {
        of_head = from.heads(layer, head);
      }
    });
  }

  Intervention empty(std::string label) const {
    Intervention intervention;
    intervention.label = std::move(label);
    intervention.heads = {unseen_.info().layers, unseen_.info().heads};
    return intervention;
  }

  // Returns the chosen interventions, each restricted to the heads for which it was chosen.
  std::vector<Intervention> by_intervention() const {
    std::vector<Intervention> parts;
    for (std::size_t k = 0; k < interventions_.size(); ++k) {
      Intervention part = empty(interventions_[k].label);
      bool any = false;
      for (const Candidate& candidate : chosen_) {
        if (of(candidate) != k) continue;
        put(candidate, interventions_[k], part);
        any = true;
      }
      if (any) parts.push_back(std::move(part));
    }
    return parts;
  }

  Intervention everything() const {
    Intervention all = empty("all chosen");
    for (const Candidate& candidate : chosen_) put(candidate, interventions_[of(candidate)], all);
    return all;
  }

  HeadSource& unseen_;
  CompareOptions options_;
  std::span<const Intervention> interventions_;
  Results& results_;
  std::string dim_;
  std::vector<Candidate> chosen_;
};

}  // namespace

void confirm_gains(HeadSource& unseen, const CompareOptions& options,
                   std::span<const Intervention> interventions, Results& results,
                   Progress* progress, std::stop_token stop) {
  Journal& journal = options.scan.journal;
  if (!journal.has_results()) return;
  if (results.metric(metric::loss_change) == nullptr || !unseen.info().has_loss) {
    throw UnsupportedError(fault("confirm_gains()", "a model with a loss", unseen.info().family,
                                 "without a loss nothing is recommended"));
  }
  if (results.partial) return;
  // The choice needs the results of all processes.
  const Journal::Stage stage(journal, "confirm");
  const Journal::Deal whole(journal);
  try {
    Confirmation(unseen, options, interventions, results).run(progress, stop);
  } catch (const AttentionError& error) {
    results.notices.push_back(
        fmt::format("nothing is confirmed by the other text: {}", error.what()));
    return;
  }
  if (options.each == Each::head) results.flags = flag_gains(results);
}

}  // namespace headgauge
