#include "headgauge/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "experiments/next_token_metrics.hpp"
#include "experiments/one_by_one.hpp"
#include "experiments/recommend.hpp"
#include "experiments/resolved_comparison.hpp"
#include "experiments/stages.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/diff.hpp"
#include "headgauge/journal.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/model.hpp"
#include "measures/output_change.hpp"
#include "results/declared.hpp"
#include "results/outcomes.hpp"
#include "scan/output.hpp"
#include "scan/passages.hpp"
#include "scan/passes.hpp"
#include "scan/recorded.hpp"
#include "scan/run.hpp"
#include "scan/stopwatch.hpp"

namespace headgauge {
namespace {

class Comparison {
 public:
  Comparison(HeadSource& source, const CompareOptions& options,
             std::span<const Intervention> interventions, const ResolvedScan& plan,
             Progress* progress, const std::stop_token& stop)
      : source_(source),
        model_(dynamic_cast<ModelSource*>(&source)),
        predicts_(model_ != nullptr && source.info().has_loss),
        options_(options),
        dimension_(dimension_of(interventions)),
        interventions_(interventions),
        plan_(plan),
        progress_(progress,
                  static_cast<int>(interventions.size()) + (options.each == Each::none ? 1 : 2)),
        stop_(stop) {}

  Results run() {
    needed_ = find_needed();
    measure_original();
    if (!stopped()) {
      options_.each == Each::none ? intervene_everywhere() : intervene_one_by_one();
    }
    note_done();
    if (!journal().has_all()) {
      Results nothing;
      nothing.partial = stopped();
      return nothing;
    }
    return write();
  }

 private:
  bool stopped() const { return stop_.stop_requested() || runs_.front().partial; }
  int documents() const { return static_cast<int>(source_.info().documents.size()); }
  Journal& journal() const { return plan_.options.journal; }

  // Returns the predictions of the last finished pass.
  Predictions predictions() {
    const Journal::Stage stage(journal(), "predictions");
    Predictions all;
    for (int d = 0; d < documents(); ++d) {
      all.emplace_back();
      if (!predicts(d)) continue;
      all.back() = recorded_next_tokens(journal(), d, source_.info(),
                                        [&] { return model_->next_tokens(d); });
    }
    return all;
  }

  // Returns whether a pass predicts tokens of a document: controls are of the original alone.
  bool predicts(Index document) const {
    return predicts_ && (predicted_.empty() || !source_.info().is_control(document));
  }

  // Returns whether the predictions of a document are still to be computed.
  bool predicts_next(Index document) const {
    if (!predicts(document)) return false;
    const Journal::Stage stage(journal(), "predictions");
    return journal().computes(document) && !journal().computed(-1, document);
  }

  // Finds the documents with unfinished parts; they need the original for comparison.
  std::vector<bool> find_needed() const {
    const Journal::Stage stage(journal(), "done");
    std::vector<bool> needed;
    for (int d = 0; d < documents(); ++d) {
      needed.push_back(journal().computes(d) && !journal().computed(-1, d));
    }
    return needed;
  }
  bool is_needed(Index document) const { return needed_[static_cast<std::size_t>(document)]; }

  void note_done() {
    if (stop_.stop_requested()) return;
    for (int d = 0; d < documents(); ++d) {
      if (!is_needed(d)) continue;
      const Journal::Stage stage(journal(), "done");
      journal().keep(-1, d, {});
    }
  }

  void measure_original() {
    const Journal::Stage stage(journal(), "original");
    ResolvedScan original = plan_;
    if (source_.info().has_values) {
      TriedInterventions tried;
      tried.dimension = dimension_;
      std::vector<std::string> labels = {"original"};
      for (const Intervention& intervention : interventions_) {
        labels.push_back(intervention.label);
        tried.interventions.push_back(&intervention.heads);
      }
      tried.labels = std::move(labels);
      original.options.own_measures.push_back(
          [=](const MeasureOptions& measure, const SourceInfo&, int slots) {
            return make_output_change(tried, slots, measure.seed);
          });
    }
    progress_.begin(0, "original");
    if (model_ != nullptr) model_->keep_entering(first_changed());
    source_.intervene({});
    ScanPart part = {.loss = false, .kept = &tables_};
    part.reaches_end = [&](Index document) { return is_needed(document); };
    runs_.push_back(run_scan(source_, original, part, &progress_, stop_));
    if (stopped() || !predicts_) return;
    model_->set_reference();
    predicted_.push_back(predictions());
  }

  // Returns the first layer that any intervention changes; earlier layers stay unchanged.
  int first_changed() const {
    int first = source_.info().layers - 1;
    for (const Intervention& intervention : interventions_) {
      first = std::min(first, first_changed_layer(intervention.heads));
    }
    return first;
  }

  // Copies the single-layer metrics of the first layers, which `run` did not measure, from the
  // original.
  void take_over(Results& run, Index layers) const {
    for (auto& [name, metric] : run.metrics) {
      const LabelledArray* original = runs_.front().metric(name);
      if (original == nullptr || metric.dims().empty() || metric.dims()[0].name() != "layer") {
        continue;
      }
      for (Index layer = 0; layer < layers; ++layer) {
        metric.put("layer", layer, original->isel("layer", layer));
      }
    }
  }

  // Runs `body(k)` for each intervention until stopped. Leaves out an intervention under which the
  // model gives no finite numbers.
  template <class Body>
  void each_intervention(const Body& body) {
    for (std::size_t k = 0; k < interventions_.size(); ++k) {
      progress_.begin(static_cast<int>(k) + 1, interventions_[k].label);
      try {
        if (!body(k)) return;
        finished_.push_back(k);
      } catch (const AttentionError& error) {
        left_out_.push_back(
            fmt::format("{} is left out: {}", interventions_[k].label, error.what()));
      }
    }
    if (finished_.empty() && journal().has_all()) throw AttentionError(left_out_.front());
  }

  // Returns the first layer of a pass under interventions. The source knows it, unless it did not
  // run because the journal had everything; then it is the first layer that changes, whose input
  // was kept.
  int first_layer() const {
    if (model_ == nullptr) return 0;
    return journal().keeps() ? first_changed() : model_->first_layer();
  }

  // Applies the intervention to all chosen heads at once and runs the model on under it.
  void intervene_everywhere() {
    each_intervention([&](std::size_t k) {
      const Journal::Stage stage(journal(), fmt::format("{} {}", k, interventions_[k].label));
      source_.intervene(interventions_[k].heads);
      ScanPart part = {.loss = false, .before = &tables_, .begins_anywhere = true};
      part.first_layer = first_layer();
      part.reaches_end = [&](Index document) { return predicts_next(document); };
      Results run = run_scan(source_, plan_, part, &progress_, stop_);
      if (run.partial || stop_.stop_requested()) return false;
      take_over(run, source_.info().attention_layers_before(part.first_layer));
      if (predicts_) predicted_.push_back(predictions());
      runs_.push_back(std::move(run));
      return true;
    });
  }

  // Applies the intervention to one head or layer at a time. The input of each head is unchanged,
  // so one pass measures them all; only the loss needs a pass for each.
  void intervene_one_by_one() {
    each_intervention([&](std::size_t k) {
      const Journal::Stage stage(journal(), fmt::format("{} {}", k, interventions_[k].label));
      source_.intervene({});
      HeadsUnder under(source_, interventions_[k].heads);
      Results run = run_scan(under, plan_, {.loss = false}, &progress_, stop_);
      if (run.partial || stop_.stop_requested()) return false;
      runs_.push_back(std::move(run));
      return true;
    });
    source_.intervene({});
    if (!predicts_ || stop_.stop_requested()) return;
    progress_.begin(static_cast<int>(interventions_.size()) + 1, "one at a time");
    tried_ = OneByOne(*model_, interventions_, finished_, options_.each, journal())
                 .run([&](Index document) { return is_needed(document); }, progress_, stop_);
  }

  std::vector<std::string> labels() const {
    std::vector<std::string> names = {"original"};
    for (const std::size_t k : finished_) names.push_back(interventions_[k].label);
    return names;
  }

  Results write() {
    const Results& original = runs_.front();
    Results results;
    results.command = Command::compare;
    results.tool = original.tool;
    results.model = original.model;
    results.text = original.text;
    results.settings = original.settings;
    write_own_settings(results);
    results.notices = original.notices;
    results.partial = stop_.stop_requested() || original.partial;
    results.layers_done = original.layers_done;
    results.coords = original.coords;
    results.set_coord(dimension_, labels());
    write_predictions(results);
    leave_out_not_finite(results);
    write_token_losses(results);
    write_output_change(results);
    write_cache(results);
    std::vector<const Results*> runs;
    for (const Results& run : runs_) {
      runs.push_back(&run);
      for (const std::string& notice : run.notices) {
        if (runs.size() == 1 || !notice.ends_with(kNotFinite)) continue;
        results.notices.push_back(labels()[runs.size() - 1] + ": " + notice);
      }
    }
    merge_runs(
        runs, dimension_,
        [&](const LabelledArray& metric) {
          const auto has = [&](std::string_view dim) { return metric.has_dim(dim); };
          if (has(dimension_)) return false;
          // Not means or tests over heads, but the reliability of forecasts for them.
          if (metric.dims().empty()) return true;
          // Metrics of several heads together have no meaning if one head is changed at a time.
          if (options_.each == Each::head) return has("layer") && has("head");
          return options_.each == Each::none || has("layer");
        },
        results);
    add_notices(results);
    double scans = 0;
    for (const Results& run : runs_) scans += run.timings.total.value();
    results.timings = {
        .original = original.timings.total, .scans = scans, .total = watch_.seconds()};
    if (options_.each == Each::head) results.flags = flag_gains(results);
    return results;
  }

  void write_own_settings(Results& results) const {
    CompareOptions written = options_;
    written.scan = plan_.options;
    written.scan.layers = options_.scan.layers;
    written.scan.heads = options_.scan.heads;
    std::vector<std::string> labels;
    for (const Intervention& intervention : interventions_) {
      if (!intervention.of_plan) labels.push_back(intervention.label);
    }
    const bool patterns = dimension_ == "pattern";
    written.normalizers = patterns ? std::vector<std::string>() : labels;
    written.patterns = patterns ? labels : std::vector<std::string>();
    results.settings.erase("normalizer");
    write_settings(options_of(written), results.settings);
  }

  void write_predictions(Results& results) {
    if (predicted_.empty()) return;
    const std::string& dim = dimension_;
    const SourceInfo& info = source_.info();
    const RepeatGaps repeats(source_);
    const TaskSet tasks(info);
    if (info.has_text()) add_outcomes({kText}, results);
    if (!tasks.empty()) {
      tasks.write_coords(results);
      write_controls(tasks, predicted_[0], results);
    }
    if (options_.each == Each::none) {
      NextTokenMetrics metrics(info, {dim}, repeats, tasks, true, results);
      for (std::size_t k = 0; k < predicted_.size(); ++k) {
        const std::vector<Index> cell = {static_cast<Index>(k)};
        std::optional<Index> whole;
        if (k > 0 && info.causal && dim == "pattern") {
          const Intervention& change = interventions_[finished_[k - 1]];
          const auto is_own = [&](const auto& own) { return own->info().name == change.label; };
          if (std::ranges::none_of(options_.own_patterns, is_own))  // which may read the vectors
            whole = queries_with_all_keys(change.heads, info, plan_.longest());
        }
        metrics.put(cell, predicted_[0], predicted_[k], whole);
      }
      return;
    }
    const bool by_head = options_.each == Each::head;
    std::vector<std::string> dims = {"layer"};
    if (by_head) dims.emplace_back("head");
    dims.push_back(dim);
    NextTokenMetrics metrics(info, dims, repeats, tasks, false, results);
    for (std::size_t layer = 0; layer < tried_.size(); ++layer) {
      const Index place = info.attention_layers_before(static_cast<int>(layer));
      const auto put = [&](int head, Index intervention, const Predictions& predictions) {
        std::vector<Index> cell = {place};
        if (by_head) cell.push_back(head);
        cell.push_back(intervention);
        metrics.put(cell, predicted_[0], predictions);
      };
      for (const Variant& variant : tried_[layer]) {
        if (variant.predictions.size() != predicted_[0].size()) continue;
        const auto at = std::ranges::find(finished_, variant.intervention) - finished_.begin();
        put(variant.head, at + 1, variant.predictions);
        put(variant.head, 0, predicted_[0]);
      }
    }
  }

  void write_token_losses(Results& results) const {
    if (*plan_.options.examples == 0) return;
    results.token_losses = find_token_losses(source_.info(), predicted_, *plan_.options.examples);
    results.passages = passages_around(results.token_losses, source_);
  }

  // Writes the size of the cache at the context that is served.
  void write_cache(Results& results) const {
    const SourceInfo& info = source_.info();
    if (!info.causal || dimension_ != "pattern" || options_.each != Each::none) return;
    const Index served = options_.serve > 0        ? options_.serve
                         : info.trained_length > 0 ? info.trained_length
                         : info.max_length > 0     ? info.max_length
                                                   : plan_.longest();
    const double all = cached_bytes({info.layers, info.heads}, info, served);
    if (all == 0) return;  // a dump of scores
    results.set_coord("served", std::vector<double>{static_cast<double>(served)});
    const std::vector<std::string> dims = {dimension_, "served"};
    LabelledArray& bytes = add_declared(results, metric::served_cache_bytes, dims);
    LabelledArray& share = add_declared(results, metric::served_cache_share, dims);
    for (Index k = 0; k <= std::ssize(finished_); ++k) {
      bytes({k, 0}) =
          k == 0 ? all : cached_bytes(interventions_[finished_[k - 1]].heads, info, served);
      share({k, 0}) = bytes({k, 0}) / all;
    }
  }

  // Writes what the pass over the original measured of the finished interventions.
  void write_output_change(Results& results) const {
    std::vector<Index> kept = {0};
    for (const std::size_t k : finished_) kept.push_back(static_cast<Index>(k) + 1);
    const std::vector<std::string> order = {"layer", "head", dimension_, "length"};
    for (const char* name : {metric::output_change, metric::kept_mass, metric::queries_losing_keys,
                             metric::entropy_deficit, metric::entropy_deficit_random}) {
      const LabelledArray* from = runs_.front().metric(name);
      if (from == nullptr) continue;
      results.add_metric(name, from->take(dimension_, kept).transposed(order));
    }
  }

  void add_notices(Results& results) const {
    if (!predicts_) {
      results.notices.push_back("there is no loss and no divergence, and no recommendation: " +
                                why_no_loss(source_.info()));
    }
    if (!source_.info().has_values) {
      results.notices.push_back("there is no output_change: " + source_.info().name +
                                " holds no values");
    }
    results.notices.insert(results.notices.end(), left_out_.begin(), left_out_.end());
    const auto longest = static_cast<Index>(results.coord_numbers("length").back());
    for (const Intervention& intervention : interventions_) {
      const auto changed = std::ranges::find_if(intervention.heads, &HeadIntervention::changes);
      if (changed == intervention.heads.end()) continue;
      for (const std::string& notice : changed->notices(source_.info(), longest)) {
        results.notices.push_back(notice);
      }
    }
    for (std::size_t place = 1; place < runs_.size(); ++place) {
      for (const std::string& notice : runs_[place].notices) {
        const auto& of_original = runs_.front().notices;
        if (std::ranges::find(of_original, notice) != of_original.end()) continue;
        results.notices.push_back(
            fmt::format("{}: {}", interventions_[finished_[place - 1]].label, notice));
      }
    }
  }

  Stopwatch watch_;
  HeadSource& source_;
  ModelSource* model_;  // null: a dump
  bool predicts_;       // predicts the next token, so that there is a loss
  const CompareOptions& options_;
  std::string dimension_;  // dimension of the interventions in the results
  std::span<const Intervention> interventions_;
  const ResolvedScan& plan_;
  StageProgress progress_;
  std::stop_token stop_;
  std::vector<bool> needed_;                 // by document
  ScanTables tables_;                        // tables of the original
  std::vector<Results> runs_;                // the original, then the finished interventions
  std::vector<std::size_t> finished_;        // indices of the finished interventions
  std::vector<std::string> left_out_;        // notices about the other interventions
  std::vector<Predictions> predicted_;       // predictions of runs_
  std::vector<std::vector<Variant>> tried_;  // per layer
};

}  // namespace

Results compare(HeadSource& source, const CompareOptions& options,
                std::span<const Intervention> interventions, Progress* progress,
                std::stop_token stop) {
  Journal& journal = options.scan.journal;
  const Journal::Stage stage(journal, "compare");
  const Journal::Deal deal(journal, document_costs(source.info().documents));
  const ResolvedScan whole = resolve_comparison(options, interventions, source.info());
  const auto pass = [&](const ResolvedScan& plan, Progress* part) {
    return Comparison(source, options, interventions, plan, part, stop).run();
  };
  Results results = source.info().causal ? pass(whole, progress)
                                         : pass_over_lengths(source, whole, pass, progress);
  if (journal.has_all()) results.changes = list_changes(results);
  return results;
}

}  // namespace headgauge
