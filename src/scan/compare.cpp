#include "headgauge/compare.hpp"

#include <algorithm>
#include <utility>

#include "headgauge/model.hpp"
#include "headgauge/patterns.hpp"
#include "scan/merge.hpp"
#include "scan/next_token_metrics.hpp"
#include "scan/output_change.hpp"
#include "scan/recommend.hpp"
#include "scan/run.hpp"
#include "scan/stopwatch.hpp"

namespace headgauge {
namespace {

// The stages of a comparison, one after the other, as one progress.
class StageProgress final : public Progress {
 public:
  StageProgress(Progress* whole, int stages) : whole_(whole), stages_(stages) {}
  void begin(int stage, std::string name) {
    stage_ = stage;
    name_ = std::move(name);
  }
  void update(std::string_view what, double done, double total) override {
    if (whole_ == nullptr) return;
    const double part = total > 0 ? done / total : 1;
    whole_->update(name_ + (what == "done" ? "" : ": " + std::string(what)), stage_ + part,
                   stages_);
  }

 private:
  Progress* whole_;
  int stages_;
  int stage_ = 0;
  std::string name_;
};

// Heads measured under a rival while the model goes on as it is.
class HeadsUnder final : public HeadSource {
 public:
  HeadsUnder(HeadSource& source, const Exchanges& exchanges)
      : source_(source), exchanges_(exchanges) {}
  const SourceInfo& info() const override { return source_.info(); }
  void describe(Results& results) const override { source_.describe(results); }
  std::span<const HeadInput> layer(int layer, int document) override {
    const auto heads = source_.layer(layer, document);
    heads_.assign(heads.begin(), heads.end());
    for (HeadInput& head : heads_) {
      exchanges_[static_cast<std::size_t>(layer * info().heads + head.head)].apply(head);
    }
    return heads_;
  }
  std::vector<double> token_losses(int document) override { return source_.token_losses(document); }

 private:
  HeadSource& source_;
  const Exchanges& exchanges_;
  std::vector<HeadInput> heads_;
};

class Comparison {
 public:
  Comparison(HeadSource& source, const CompareOptions& options, std::span<const Rival> rivals,
             Progress* progress, const std::stop_token& stop)
      : source_(source),
        model_(dynamic_cast<ModelSource*>(&source)),
        options_(options),
        rivals_(rivals),
        progress_(progress, static_cast<int>(rivals.size()) + (options.each == Each::none ? 1 : 2)),
        stop_(stop) {
    // Layers and heads choose what is exchanged; all are measured, for what comes later changes
    // too.
    scan_ = options.scan;
    scan_.layers.clear();
    scan_.heads.clear();
    if (!scan_.measures.empty() && source.info().has_loss) scan_.measures.emplace_back("model");
  }

  Results run() {
    measure_original();
    if (!stopped()) {
      options_.each == Each::none ? exchange_all() : exchange_each();
    }
    return write();
  }

 private:
  bool stopped() const { return stop_.stop_requested() || runs_.front().partial; }
  int documents() const { return static_cast<int>(source_.info().documents.size()); }

  Predictions predictions() {
    Predictions all;
    for (int d = 0; d < documents(); ++d) all.push_back(model_->next_tokens(d));
    return all;
  }

  void measure_original() {
    ScanExtras extras;
    extras.loss = false;
    const SourceInfo& info = source_.info();
    if (info.has_values) {
      std::vector<const Exchanges*> exchanges;
      for (const Rival& rival : rivals_) exchanges.push_back(&rival.exchanges);
      const int slots = resolve_options(scan_, info).threads;
      extras.measures.push_back(
          make_output_change(std::move(exchanges), options_.dimension, info, slots));
      extras.coords.emplace_back(options_.dimension, labels(rivals_.size()));
    }
    extras.kept = &tables_;
    progress_.begin(0, "original");
    if (model_ != nullptr) model_->keep_entering(first_exchanged());
    source_.exchange({});
    runs_.push_back(scan_with(source_, scan_, std::move(extras), &progress_, stop_));
    if (stopped() || model_ == nullptr) return;
    model_->set_reference();
    predicted_.push_back(predictions());
  }

  ScanExtras without_loss() const {
    ScanExtras extras;
    extras.loss = false;
    return extras;
  }

  // The first layer that any rival changes; the layers before it stay as they are.
  int first_exchanged() const {
    std::size_t first = static_cast<std::size_t>(source_.info().layers * source_.info().heads) - 1;
    for (const Rival& rival : rivals_) {
      const auto at = std::ranges::find_if(rival.exchanges, &Exchange::changes);
      first = std::min(first, static_cast<std::size_t>(at - rival.exchanges.begin()));
    }
    return static_cast<int>(first) / source_.info().heads;
  }

  // What is of single layers, for those that `run` took over from the original.
  void take_over(Results& run, int layers) const {
    for (auto& [name, metric] : run.metrics) {
      const MetricArray* original = runs_.front().metric(name);
      if (original == nullptr || metric.dims.empty() || metric.dims.front() != "layer") continue;
      const std::size_t size =
          metric.values.size() / static_cast<std::size_t>(source_.info().layers);
      const auto cells = static_cast<std::ptrdiff_t>(size) * layers;
      std::copy_n(original->values.begin(), cells, metric.values.begin());
      if (!metric.stderr_.empty()) {
        std::copy_n(original->stderr_.begin(), cells, metric.stderr_.begin());
      }
      if (!metric.rows.empty()) std::copy_n(original->rows.begin(), cells, metric.rows.begin());
    }
  }

  // The rival in every head chosen, the model run on under it.
  void exchange_all() {
    for (std::size_t k = 0; k < rivals_.size(); ++k) {
      progress_.begin(static_cast<int>(k) + 1, rivals_[k].label);
      source_.exchange(rivals_[k].exchanges);
      ScanExtras extras = without_loss();
      if (model_ != nullptr) extras.first_layer = model_->first_layer();
      extras.before = &tables_;
      Results run = scan_with(source_, scan_, std::move(extras), &progress_, stop_);
      if (run.partial || stop_.stop_requested()) return;
      take_over(run, model_ != nullptr ? model_->first_layer() : 0);
      runs_.push_back(std::move(run));
      if (model_ != nullptr) predicted_.push_back(predictions());
    }
  }

  // The rival in one head or layer after the other. Such a head still gets what it got before, so
  // one pass measures them all; only the loss needs a pass each.
  void exchange_each() {
    source_.exchange({});
    for (std::size_t k = 0; k < rivals_.size(); ++k) {
      progress_.begin(static_cast<int>(k) + 1, rivals_[k].label);
      HeadsUnder under(source_, rivals_[k].exchanges);
      Results run = scan_with(under, scan_, without_loss(), &progress_, stop_);
      source_.exchange({});
      if (run.partial || stop_.stop_requested()) return;
      runs_.push_back(std::move(run));
    }
    if (model_ == nullptr) return;
    progress_.begin(static_cast<int>(rivals_.size()) + 1, "one at a time");
    const int layers = source_.info().layers;
    tried_.resize(static_cast<std::size_t>(layers));
    for (int layer = 0; layer < layers && !stop_.stop_requested(); ++layer) {
      progress_.update("layer " + std::to_string(layer), layer, layers);
      try_layer(layer);
    }
    progress_.update("done", layers, layers);
  }

  // One variant: a rival in some heads of a layer.
  struct Variant {
    int head = -1;  // -1: the layer
    std::size_t rival = 0;
    Predictions predictions;
  };

  void try_layer(int layer) {
    const int heads = source_.info().heads;
    std::vector<Variant>& variants = tried_[static_cast<std::size_t>(layer)];
    std::vector<Exchanges> exchanges;
    const auto add = [&](std::size_t rival, int head) {
      Exchanges some(static_cast<std::size_t>(heads));
      bool any = false;
      for (int h = 0; h < heads; ++h) {
        const Exchange& exchange =
            rivals_[rival].exchanges[static_cast<std::size_t>(layer * heads + h)];
        if (!exchange.changes() || (head >= 0 && h != head)) continue;
        some[static_cast<std::size_t>(h)] = exchange;
        any = true;
      }
      if (!any) return;
      variants.push_back({head, rival, {}});
      exchanges.push_back(std::move(some));
    };
    for (std::size_t k = 0; k < rivals_.size(); ++k) {
      if (options_.each == Each::layer) add(k, -1);
      for (int h = 0; options_.each == Each::head && h < heads; ++h) add(k, h);
    }
    for (int d = 0; d < documents(); ++d) {
      source_.layer(layer, d);
      if (exchanges.empty()) continue;
      auto found = model_->try_exchanges(layer, d, exchanges);
      for (std::size_t v = 0; v < found.size(); ++v) {
        variants[v].predictions.push_back(std::move(found[v]));
      }
    }
  }

  std::vector<std::string> labels(std::size_t rivals) const {
    std::vector<std::string> names = {"original"};
    for (const Rival& rival : rivals_.first(rivals)) names.push_back(rival.label);
    return names;
  }

  Results write() {
    const Results& original = runs_.front();
    Results results;
    results.tool = original.tool;
    results.model = original.model;
    results.text = original.text;
    results.settings = original.settings;
    results.settings["layers"] = options_.scan.layers.empty() ? "all" : options_.scan.layers;
    results.settings["heads"] = options_.scan.heads.empty() ? "all" : options_.scan.heads;
    results.notices = original.notices;
    results.partial = stop_.stop_requested() || original.partial;
    results.layers_done = original.layers_done;
    for (const auto& [name, values] : original.coords) results.set_coord(name, values);
    const std::size_t finished = runs_.size() - 1;
    results.set_coord(options_.dimension, labels(finished));
    write_predictions(results);
    write_output_change(results, finished);
    write_fitted(results, finished);
    std::vector<const Results*> runs;
    for (const Results& run : runs_) runs.push_back(&run);
    merge_runs(
        runs, options_.dimension,
        [&](const MetricArray& metric) {
          const auto has = [&](std::string_view dim) {
            return std::ranges::find(metric.dims, dim) != metric.dims.end();
          };
          if (has(options_.dimension)) return false;
          // What is of several heads together is nobody's where one is exchanged at a time.
          if (options_.each == Each::head) return has("layer") && has("head");
          return options_.each == Each::none || has("layer");
        },
        results);
    add_notices(results);
    double scans = 0;
    for (const Results& run : runs_) scans += run.timings["total_s"].get<double>();
    results.timings = {{"original_s", original.timings["total_s"]},
                       {"scans_s", scans},
                       {"total_s", watch_.seconds()}};
    if (options_.each == Each::head) results.flags = recommend_heads(results);
    return results;
  }

  void write_predictions(Results& results) {
    if (predicted_.empty()) return;
    const std::string& dim = options_.dimension;
    if (options_.each == Each::none) {
      NextTokenMetrics metrics({dim}, results);
      for (std::size_t k = 0; k < predicted_.size(); ++k) {
        metrics.put(std::vector<Index>{static_cast<Index>(k)}, predicted_[0], predicted_[k]);
      }
      return;
    }
    const bool by_head = options_.each == Each::head;
    std::vector<std::string> dims = {"layer"};
    if (by_head) dims.emplace_back("head");
    dims.push_back(dim);
    NextTokenMetrics metrics(dims, results);
    for (std::size_t layer = 0; layer < tried_.size(); ++layer) {
      const auto put = [&](int head, Index rival, const Predictions& predictions) {
        std::vector<Index> cell = {static_cast<Index>(layer)};
        if (by_head) cell.push_back(head);
        cell.push_back(rival);
        metrics.put(cell, predicted_[0], predictions);
      };
      for (const Variant& variant : tried_[layer]) {
        if (variant.predictions.size() != predicted_[0].size()) continue;
        put(variant.head, static_cast<Index>(variant.rival) + 1, variant.predictions);
        put(variant.head, 0, predicted_[0]);
      }
    }
  }

  // From (layer, head, length, rival) to (layer, head, rival, length).
  void write_output_change(Results& results, std::size_t finished) const {
    for (const char* name : {"output_change", "kept_mass"}) {
      const MetricArray* from = runs_.front().metric(name);
      if (from == nullptr) continue;
      const auto lengths = static_cast<std::size_t>(results.coord_size("length"));
      const std::size_t all = rivals_.size() + 1, kept = finished + 1;
      MetricArray& to =
          results.add_metric(name, {"layer", "head", options_.dimension, "length"}, "1");
      to.stderr_.resize(to.values.size());
      to.rows.resize(to.values.size());
      for (std::size_t i = 0; i < to.values.size(); ++i) {
        const std::size_t length = i % lengths, rival = i / lengths % kept;
        const std::size_t at = (i / (lengths * kept) * lengths + length) * all + rival;
        to.values[i] = from->values[at];
        to.stderr_[i] = from->stderr_[at];
        to.rows[i] = from->rows[at];
      }
    }
  }

  void write_fitted(Results& results, std::size_t finished) const {
    const auto some = rivals_.first(finished);
    if (std::ranges::all_of(some, [](const Rival& r) { return r.fitted.empty(); })) return;
    MetricArray& fitted =
        results.add_metric("fitted_parameter", {"layer", "head", options_.dimension}, "1");
    for (std::size_t k = 0; k < finished; ++k) {
      for (std::size_t h = 0;
           h < some[k].fitted.size() && h * (finished + 1) < fitted.values.size(); ++h) {
        fitted.values[h * (finished + 1) + k + 1] = some[k].fitted[h];
      }
    }
  }

  void add_notices(Results& results) const {
    if (model_ == nullptr) {
      results.notices.push_back("there is no loss and no divergence: " + source_.info().name +
                                " gives no logits");
    }
    if (!source_.info().has_values) {
      results.notices.push_back("there is no output_change: " + source_.info().name +
                                " holds no values");
    }
    const auto longest = static_cast<Index>(results.coord_numbers("length").back());
    for (const Rival& rival : rivals_) {
      const auto changed = std::ranges::find_if(rival.exchanges, &Exchange::changes);
      if (changed == rival.exchanges.end() || !rival.fitted.empty()) continue;
      const std::string notice = changed->pattern != nullptr
                                     ? changed->pattern->notice(source_.info(), longest)
                                     : changed->rule->notice(longest);
      if (!notice.empty()) results.notices.push_back(notice);
    }
    for (const Results& run : runs_) {
      for (const std::string& notice : run.notices) {
        if (std::ranges::find(results.notices, notice) == results.notices.end()) {
          results.notices.push_back(notice);
        }
      }
    }
  }

  Stopwatch watch_;
  HeadSource& source_;
  ModelSource* model_;
  const CompareOptions& options_;
  std::span<const Rival> rivals_;
  StageProgress progress_;
  std::stop_token stop_;
  ScanOptions scan_;
  ScanTables tables_;                        // of the original
  std::vector<Results> runs_;                // the original, then the rivals finished
  std::vector<Predictions> predicted_;       // the same
  std::vector<std::vector<Variant>> tried_;  // per layer
};

}  // namespace

Results compare(HeadSource& source, const CompareOptions& options, std::span<const Rival> rivals,
                Progress* progress, std::stop_token stop) {
  return Comparison(source, options, rivals, progress, stop).run();
}

}  // namespace headgauge
