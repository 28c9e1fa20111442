#include "headgauge/scan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <thread>

#include "base/memory.hpp"
#include "findings/summary.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/flags.hpp"
#include "headgauge/journal.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/parallel.hpp"
#include "heads/tool.hpp"
#include "kernels/simd.hpp"
#include "measures/examples.hpp"
#include "results/declared.hpp"
#include "scan/answers.hpp"
#include "scan/layer_scan.hpp"
#include "scan/output.hpp"
#include "scan/passages.hpp"
#include "scan/passes.hpp"
#include "scan/recorded.hpp"
#include "scan/repeats.hpp"
#include "scan/run.hpp"
#include "scan/stopwatch.hpp"

namespace headgauge {
namespace {

constexpr const char* kLessMemory =
    "use shorter ScanOptions::lengths, fewer ScanOptions::measures, or ScanOptions::queries to "
    "sample rows";
constexpr const char* kFewerThreads =
    "use fewer ScanOptions::threads (more than one for each core do not help), or shorter "
    "ScanOptions::lengths";

constexpr const char* kLossStage = "loss";

Measured choose_heads(const HeadSelection& selection, const SourceInfo& info) {
  Measured measured;
  for (int layer = 0; layer < info.layers; ++layer) {
    if (selection.layer(layer)) measured.layers.push_back(layer);
  }
  for (int head = 0; head < info.heads; ++head) {
    if (std::ranges::any_of(measured.layers,
                            [&](int layer) { return selection.contains(layer, head); })) {
      measured.heads.push_back(head);
    }
  }
  return measured;
}

// Returns whether sets of top_n are measured.
bool measures_sets(const ScanOptions& options) {
  return std::ranges::any_of(all_metrics(), [&](const MetricInfo& metric) {
    return std::ranges::find(metric.dims, "top_n") != metric.dims.end() &&
           std::ranges::find(options.measures, metric.group) != options.measures.end();
  });
}

// One pass over a source.
class Scan {
 public:
  Scan(HeadSource& source, const ResolvedScan& plan, const ScanPart& part, Progress* progress,
       const std::stop_token& stop)
      : source_(source),
        info_(source.info()),
        plan_(plan),
        part_(part),
        progress_(progress),
        stop_(stop),
        pool_(plan.options.threads),
        measured_(choose_heads(plan.selection, info_)),
        tasks_(info_) {
    const ScanOptions& options = plan_.options;
    tables_.measures = make_measures(plan_, info_, pool_.threads());
    tables_.layout = std::make_unique<CellLayout>(tables_.measures);
    tables_.plan = std::make_unique<MeasuredRows>(options.lengths, info_.measured_lengths(),
                                                  *options.queries, options.seed);
    asks_loss_ = asks("model");
    predicts_ = has_predictions(options.measure, info_);
    last_layer_ = last_layer_of(plan_, info_);
    bytes_ = estimate_bytes();
  }

  // Throws ResourceError if the scan does not fit in memory.
  void require_room() const {
    const bool crowded = pool_.threads() > static_cast<int>(std::thread::hardware_concurrency());
    require_memory(bytes_, "scan of " + info_.name, crowded ? kFewerThreads : kLessMemory);
  }

  // Either another process took the memory or the estimate was too low.
  ResourceError out_of_memory() const {
    return ResourceError(fault("scan of " + info_.name,
                               format_bytes(bytes_) + " of memory, by estimate",
                               "that the system ran out of it", kLessMemory));
  }

  Results run() {
    measure();
    const Predictions predictions = next_tokens();
    Results results;
    if (journal().has_all()) {
      write(predictions, results);
    } else {
      results.partial = stopped_;
    }
    if (progress_ != nullptr && !stopped_)
      progress_->update("done", last_layer_ + 1, last_layer_ + 1);
    if (part_.kept != nullptr) *part_.kept = std::move(tables_);
    return results;
  }

 private:
  const CellLayout& layout() const { return *tables_.layout; }
  const MeasuredRows& rows() const { return *tables_.plan; }
  bool asks(std::string_view group) const {
    return std::ranges::find(plan_.options.measures, group) != plan_.options.measures.end();
  }
  bool wants_loss() const { return predicts_ && asks_loss_ && info_.has_text(); }
  bool wants_answers() const { return predicts_ && !tasks_.empty(); }
  // Returns whether the predictions of the document are needed.
  bool wants_predictions(Index document) const {
    return info_.is_text(document) ? wants_loss() : wants_answers();
  }
  Journal& journal() const { return plan_.options.journal; }
  // Returns the number of measured layers before this scan's first one.
  std::size_t taken_over() const {
    return static_cast<std::size_t>(info_.attention_layers_before(part_.first_layer));
  }

  std::size_t estimate_bytes() const {
    // A table of statistics for each layer, and the same size again as results.
    std::size_t bytes =
        info_.bytes +
        HeadScanner::bytes(rows().longest(), info_.head_dim, pool_.threads(),
                           plan_.options.measure.changed != MeasureOptions::Changed::nothing) +
        LayerScan::bytes(rows(), layout(), info_.heads) +
        2 * measured_.layers.size() * LayerTable::bytes(rows(), layout(), info_.heads);
    for (const auto& measure : tables_.measures) bytes += measure->bytes(info_, rows().longest());
    return bytes;
  }

  void measure() {
    ScanPart part = part_;
    part.reaches_end = [&](Index document) {
      return (part_.reaches_end && part_.reaches_end(document)) || computes_loss(document);
    };
    if (part_.loss) part.end_stage = kLossStage;
    LayerScan layers(source_, plan_, part, tables_, pool_, progress_, stop_);
    layers.run();
    stopped_ = layers.stopped();
    left_out_ = layers.left_out();
    forward_seconds_ = layers.forward_seconds();
    measure_seconds_ = layers.measure_seconds();
  }

  bool computes_loss(Index document) const {
    if (!wants_predictions(document) || !part_.loss) return false;
    const Journal::Stage stage(journal(), kLossStage);
    return journal().computes(document) && !journal().computed(-1, document);
  }

  // Returns the predictions for each document; none if they are not needed.
  Predictions next_tokens() {
    Predictions found;
    if (!(wants_loss() || wants_answers()) || !part_.loss || stopped_) return found;
    const Stopwatch loss;
    const Journal::Stage stage(journal(), kLossStage);
    for (Index d = 0; d < std::ssize(info_.documents); ++d) {
      found.emplace_back();
      if (!wants_predictions(d)) continue;
      found.back() = recorded_next_tokens(journal(), d, info_,
                                          [&] { return source_.next_tokens(static_cast<int>(d)); });
    }
    forward_seconds_ += loss.seconds();
    return found;
  }

  void write(const Predictions& predictions, Results& results) {
    const std::size_t done = taken_over() + tables_.layers.size();
    const bool layers_missing = done < measured_.layers.size();
    measured_.layers.resize(done);
    results.partial = stopped_;
    results.layers_done = static_cast<int>(done);
    describe(results);
    add_notices(results);
    write_settings(plan_.options, results);
    write_metrics(results);
    note_missing_texts(results);
    if (stopped_) leave_out(layers_missing, results);
    if (!predictions.empty() && wants_loss()) write_loss(predictions, results);
    if (!predictions.empty() && wants_answers()) write_answers(predictions, results);
    leave_out_not_finite(results);
    results.flags = find_flags(results);
    note_few_rows(results);
    note_few_heads(results);
    results.timings = {
        .forward = forward_seconds_, .measure = measure_seconds_, .total = total_.seconds()};
  }

  void describe(Results& results) const {
    results.tool = describe_tool(pool_.threads());
    results.model = describe_model(info_);
    source_.describe(results);
  }

  void add_notices(Results& results) const {
    const auto say = [&](std::string notice) {
      if (!notice.empty()) results.notices.push_back(std::move(notice));
    };
    const ScanOptions& options = plan_.options;
    const Index longest = rows().longest();
    results.notices = info_.notices;
    if (asks_loss_ && !info_.has_loss) say("there is no loss: " + why_no_loss(info_));
    if (info_.has_loss && !predicts_) say(why_no_predictions(options, info_));
    const bool roles = std::ranges::find(options.measures, "roles") != options.measures.end();
    if (roles && !info_.has_tokens) {
      say("no token ids are known: what needs them (weight_copies, weight_induction) is "
          "undefined");
    }
    say(untrained_notice(longest, info_));
    for (std::string& notice : short_document_notices(rows().lengths(), info_, results)) {
      say(std::move(notice));
    }
    // Default sizes, like lengths, are reduced to those that fit.
    const std::vector<int> beyond = sizes_beyond(options.measure.top_n, longest);
    if (!beyond.empty() && options.measure.top_n != MeasureOptions{}.top_n && info_.has_x &&
        measures_sets(options)) {
      say(
          fmt::format("no query sees more than {} keys: there are no sets of N = {}, so their "
                      "values are undefined",
                      longest, fmt::join(beyond, ", ")));
    }
    if (left_out_.without_keys > 0) {
      say(fmt::format(
          "{} rows of heads see no key, because all of their scores are -Inf: they are left out",
          left_out_.without_keys));
    }
    if (left_out_.beyond_float32 > 0) {
      say(fmt::format(
          "{} rows of heads have weights whose squares are beyond float32 (the largest is above "
          "1e18 or below 1e-18): they are left out of all metrics",
          left_out_.beyond_float32));
    }
    for (std::string& notice : plan_.intervention.notices(info_, longest)) say(std::move(notice));
  }

  void write_metrics(Results& results) const {
    write_coords(measured_, rows(), plan_.options.measure, info_, results);
    for (const auto& [name, labels] : layout().written_coords()) results.set_coord(name, labels);
    std::vector<const LayerTable*> layers;
    for (std::size_t l = 0; l < taken_over(); ++l) {
      layers.push_back(part_.before->layers[l].get());
    }
    for (const auto& table : tables_.layers) layers.push_back(table.get());
    write_row_metrics(measured_, layout(), layers, plan_.selection, results);
    const std::vector<const LayerStatistics*> statistics(layers.begin(), layers.end());
    for (const auto& measure : tables_.measures) measure->derive(statistics, results);
    results.passages = passages_around(results.examples, source_);
    // The keys of cross-attention are not tokens of the text.
    const bool one = info_.documents.size() == 1 || !info_.is_measured(1);
    const bool shown = one && results.model.attention != "cross";
    if (!results.text.sinks || !shown) return;
    const std::vector<std::string> texts = source_.token_texts(0);
    for (FoundSink& sink : *results.text.sinks) {
      if (sink.position < std::ssize(texts)) sink.token = texts[sink.position];
    }
  }

  // Leaves out what an interrupted scan cannot know.
  void leave_out(bool layers_missing, Results& results) const {
    std::vector<std::string> dropped;
    if (layers_missing) dropped = drop_whole_model_metrics(results);
    if (wants_loss()) dropped.push_back(metric::loss);
    if (wants_loss() && info_.has_tokens) dropped.push_back(metric::loss_by_gap);
    if (wants_answers()) dropped.push_back(metric::answer_right);
    if (dropped.empty()) return;
    results.notices.push_back(fmt::format(
        "interrupted: metrics of the whole model are left out ({})", fmt::join(dropped, ", ")));
  }

  void write_loss(const Predictions& predictions, Results& results) const {
    const std::vector<std::vector<double>> losses = text_losses(info_, predictions);
    add_outcomes({kText}, results);
    LabelledArray& loss = add_declared(results, metric::loss).with_standard_errors().with_rows();
    for (Index l = 0; l < std::ssize(rows().lengths()); ++l) {
      loss.set({0, l}, series_statistics(losses, rows().lengths()[l] - 1));
    }
    const RepeatGaps repeats(source_);
    if (!repeats.known()) return;
    results.set_coord("gap", repeats.labels());
    add_declared(results, metric::loss_by_gap)
        .with_standard_errors()
        .with_rows()
        .set_along({}, repeats.means(losses));
  }

  void write_answers(const Predictions& predictions, Results& results) const {
    tasks_.write_coords(results);
    AnswerMetrics(tasks_, {}, true, results).put({}, predictions);
    write_controls(tasks_, predictions, results);
  }

  void note_missing_texts(Results& results) const {
    if (results.examples.empty() || !results.passages.empty()) return;
    results.notices.push_back(
        fmt::format("{} gives no text of its tokens: the examples are positions and weights alone",
                    info_.name));
  }

  void note_few_rows(Results& results) const {
    if (has_rows_to_judge(results) || rows_at_longest(results) == 0) return;  // 0: all undefined
    results.notices.push_back(
        fmt::format("no findings and no flags: a head's means are of {} rows at most, and fewer "
                    "than {} are too few to judge a head by",
                    *rows_at_longest(results), kJudgedRows));
  }

  void note_few_heads(Results& results) const {
    std::size_t layers = 0;  // whose heads are compared
    for (Index l = 0; l < std::ssize(measured_.layers); ++l) layers += sees_all_keys(results, l);
    if (layers == 0) layers = measured_.layers.size();
    const std::size_t heads = layers * measured_.heads.size();
    if (results.metric(metric::critical_n) == nullptr || critical_n_can_be_shown(results, heads))
      return;
    results.notices.push_back(
        fmt::format("critical_n: {} heads are too few to show anything at this level; read "
                    "critical_n_head instead",
                    heads));
  }

  const Stopwatch total_;
  HeadSource& source_;
  const SourceInfo& info_;
  const ResolvedScan& plan_;
  const ScanPart& part_;
  Progress* progress_;
  const std::stop_token& stop_;
  ThreadPool pool_;
  Measured measured_;
  TaskSet tasks_;
  ScanTables tables_;
  bool asks_loss_ = false;
  bool predicts_ = false;
  int last_layer_ = 0;
  std::size_t bytes_ = 0;  // memory estimate, known before the work begins
  bool stopped_ = false;
  LeftOutRows left_out_;
  double forward_seconds_ = 0, measure_seconds_ = 0;
};

}  // namespace

ScanTables::ScanTables() = default;
ScanTables::ScanTables(ScanTables&&) noexcept = default;
ScanTables& ScanTables::operator=(ScanTables&&) noexcept = default;
ScanTables::~ScanTables() = default;

Results scan(HeadSource& source, const ScanOptions& options, Progress* progress,
             std::stop_token stop) {
  const Journal::Stage stage(options.journal, "scan");
  const Journal::Deal deal(options.journal, document_costs(source.info().documents));
  ResolvedScan whole = resolve_scan(options, source.info());
  if (const int kept = *whole.options.examples; kept > 0) {
    const MeasureMaker examples = [=](const MeasureOptions& measure, const SourceInfo&, int slots) {
      return make_examples_measure(kept, measure.lengths.back(), slots);
    };
    whole.options.own_measures.push_back(examples);
  }
  // The caller's own patterns and measures may look at any query.
  const bool only_rows = whole.intervention.pattern == nullptr && options.own_measures.empty();
  const auto pass = [&](const ResolvedScan& plan, Progress* part) {
    return run_scan(source, plan, {.only_rows = only_rows, .begins_anywhere = true}, part, stop);
  };
  return source.info().causal ? pass(whole, progress)
                              : pass_over_lengths(source, whole, pass, progress);
}

Results run_scan(HeadSource& source, const ResolvedScan& plan, const ScanPart& part,
                 Progress* progress, const std::stop_token& stop) {
  std::optional<Scan> scan;
  try {
    scan.emplace(source, plan, part, progress, stop);
    scan->require_room();
    return scan->run();
  } catch (const std::bad_alloc&) {
    if (scan) throw scan->out_of_memory();
    throw ResourceError(fault("memory", "enough memory for the measurements", "not enough left",
                              "measure fewer groups, or use fewer threads"));
  }
}

std::vector<MetricInfo> scan_metrics(const ScanOptions& options, const SourceInfo& source) {
  const ResolvedScan plan = resolve_scan(options, source);
  std::vector<MetricInfo> metrics =
      declared_metrics(make_measures(plan, source, plan.options.threads));
  std::erase_if(metrics, [](const MetricInfo& metric) {
    return metric.kind == MetricKind::hidden || metric.kind == MetricKind::passed_on;
  });
  return metrics;
}

}  // namespace headgauge
