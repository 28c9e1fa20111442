#include "headgauge/scan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <thread>

#include "base/memory.hpp"
#include "headgauge/flags.hpp"
#include "headgauge/parallel.hpp"
#include "heads/tool.hpp"
#include "kernels/simd.hpp"
#include "measures/examples.hpp"
#include "results/declared.hpp"
#include "scan/head_scanner.hpp"
#include "scan/output.hpp"
#include "scan/passages.hpp"
#include "scan/passes.hpp"
#include "scan/run.hpp"
#include "scan/statistics.hpp"
#include "scan/stopwatch.hpp"
#include "scan/summary.hpp"

namespace headgauge {
namespace {

constexpr const char* kLessMemory =
    "use shorter ScanOptions::lengths, fewer ScanOptions::measures, or ScanOptions::queries to "
    "sample rows";
constexpr const char* kFewerThreads =
    "use fewer ScanOptions::threads (no more than there are cores help), or shorter "
    "ScanOptions::lengths";

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

// Whether sets of top_n are measured.
bool measures_sets(const ScanOptions& options) {
  return std::ranges::any_of(all_metrics(), [&](const MetricInfo& metric) {
    return std::ranges::find(metric.dims, "top_n") != metric.dims.end() &&
           std::ranges::find(options.measures, metric.group) != options.measures.end();
  });
}

// One pass over a source.
class Scan {
 public:
  Scan(HeadSource& source, const ScanPlan& plan, const ScanPart& part, Progress* progress,
       const std::stop_token& stop)
      : source_(source),
        info_(source.info()),
        plan_(plan),
        part_(part),
        progress_(progress),
        stop_(stop),
        pool_(plan.options.threads),
        measured_(choose_heads(plan.selection, info_)) {
    const ScanOptions& options = plan_.options;
    tables_.measures = make_measures(plan_, info_, pool_.threads());
    tables_.layout = std::make_unique<CellLayout>(tables_.measures);
    tables_.plan =
        std::make_unique<RowPlan>(options.lengths, info_.documents, *options.queries, options.seed);
    asks_loss_ = std::ranges::find(options.measures, "model") != options.measures.end();
    last_layer_ = wants_loss() ? info_.layers - 1 : measured_.layers.back();
    bytes_ = estimate_bytes();
  }

  // Throws ResourceError where the scan does not fit in memory.
  void require_room() const {
    const bool crowded = pool_.threads() > static_cast<int>(std::thread::hardware_concurrency());
    require_memory(bytes_, "scan of " + info_.name, crowded ? kFewerThreads : kLessMemory);
  }

  // Another process took the memory, or the estimate was too low.
  ResourceError out_of_memory() const {
    return ResourceError(fault("scan of " + info_.name,
                               format_bytes(bytes_) + " of memory, by estimate",
                               "that the system ran out of it", kLessMemory));
  }

  Results run() {
    measure();
    Results results = write();
    if (progress_ != nullptr) progress_->update("done", last_layer_ + 1, last_layer_ + 1);
    if (part_.kept != nullptr) *part_.kept = std::move(tables_);
    return results;
  }

 private:
  const CellLayout& layout() const { return *tables_.layout; }
  const RowPlan& rows() const { return *tables_.plan; }
  bool wants_loss() const { return info_.has_loss && asks_loss_; }

  std::size_t estimate_bytes() const {
    // A table of statistics for each layer, then the same once more as results.
    std::size_t bytes =
        info_.bytes +
        HeadScanner::bytes(rows().longest(), info_.head_dim, pool_.threads(),
                           plan_.options.measure.changed != MeasureOptions::Changed::nothing) +
        static_cast<std::size_t>(info_.heads) * HeadAccumulator::bytes(rows(), layout().cells()) +
        2 * measured_.layers.size() * LayerTable::bytes(rows(), layout(), info_.heads);
    for (const auto& measure : tables_.measures) bytes += measure->bytes(info_, rows().longest());
    return bytes;
  }

  // The queries of each document that are measured; empty: all may be looked at.
  std::vector<std::vector<Index>> queries_looked_at() const {
    std::vector<std::vector<Index>> queries;
    if (!part_.only_rows || *plan_.options.queries == 0) return queries;
    for (const DocumentPlan& document : rows().documents()) {
      std::vector<Index>& of_document = queries.emplace_back();
      for (const Tile& tile : document.tiles) {
        of_document.insert(of_document.end(), tile.queries.begin(), tile.queries.end());
      }
    }
    return queries;
  }

  void measure() {
    source_.look_at(queries_looked_at());
    HeadScanner scanner(tables_.measures, layout(), rows(), pool_, stop_);
    std::vector<HeadAccumulator> heads;
    for (int head = 0; head < info_.heads; ++head) heads.emplace_back(rows(), layout().cells());
    for (int layer = part_.first_layer; layer <= last_layer_ && !stopped_; ++layer) {
      measure_layer(layer, scanner, heads);
      if (!stopped_ && plan_.selection.layer(layer)) finish_layer(layer, heads);
    }
    source_.look_at({});
    stopped_ = stopped_ || stop_.stop_requested();
    rows_without_keys_ = scanner.rows_without_keys();
  }

  void measure_layer(int layer, HeadScanner& scanner, std::vector<HeadAccumulator>& accumulators) {
    for (auto& accumulator : accumulators) accumulator.clear();
    const int documents = static_cast<int>(rows().documents().size());
    for (int document = 0; document < documents && !stopped_; ++document) {
      if (progress_ != nullptr) {
        progress_->update("measuring layer " + std::to_string(layer),
                          layer + static_cast<double>(document) / documents, last_layer_ + 1);
      }
      const Stopwatch forward;
      const auto heads = source_.layer(layer, document);
      forward_seconds_ += forward.seconds();
      const Stopwatch measuring;
      for (const HeadInput& head : heads) {
        stopped_ = stop_.stop_requested();
        if (stopped_) break;
        if (plan_.selection.contains(layer, head.head)) {
          const HeadInput under = changed(head);
          scanner.scan(under, original(head, under), accumulators[head.head]);
        }
        stopped_ = stop_.stop_requested();  // the head may have been left in the middle of it
        if (stopped_) break;
      }
      measure_seconds_ += measuring.seconds();
    }
  }

  // The head under the plan's intervention; a normalizer of its own takes precedence.
  HeadInput changed(HeadInput head) const {
    const Normalizer* own = head.normalizer;
    plan_.intervention.apply(head);
    if (own != nullptr) head.normalizer = own;
    return head;
  }

  // The same head without what the scan changes: its pattern or, where it has none, its
  // normalizer. Where the scan changes nothing, without what the source was told to change.
  HeadInput original(const HeadInput& head, const HeadInput& under) const {
    HeadInput original = head;
    if (plan_.intervention.pattern != nullptr) original.normalizer = under.normalizer;
    if (!plan_.intervention.changes() && head.own) {
      original.normalizer = head.own->normalizer;
      original.visibility = head.own->visibility;
    }
    return original;
  }

  void finish_layer(int layer, const std::vector<HeadAccumulator>& accumulators) {
    const Stopwatch measuring;
    auto table = std::make_unique<LayerTable>(rows(), layout(), info_.heads);
    pool_.for_each(info_.heads, [&](Index head) {
      if (plan_.selection.contains(layer, static_cast<int>(head))) {
        table->fill(head, accumulators[head]);
      }
    });
    for (const auto& measure : tables_.measures) measure->end_layer(layer, *table, pool_);
    tables_.layers.push_back(std::move(table));
    measure_seconds_ += measuring.seconds();
  }

  Results write() {
    const std::size_t done = static_cast<std::size_t>(part_.first_layer) + tables_.layers.size();
    const bool layers_missing = done < measured_.layers.size();
    measured_.layers.resize(done);
    Results results;
    results.partial = stopped_;
    results.layers_done = static_cast<int>(done);
    describe(results);
    add_notices(results);
    write_settings(plan_.options, results);
    write_metrics(results);
    note_missing_texts(results);
    if (stopped_) leave_out(layers_missing, results);
    const Stopwatch loss;
    if (wants_loss() && part_.loss && !stopped_) write_loss(results);
    if (wants_loss()) forward_seconds_ += loss.seconds();
    results.flags = find_flags(results);
    note_few_heads(results);
    results.timings = {{"forward_s", forward_seconds_},
                       {"measure_s", measure_seconds_},
                       {"total_s", total_.seconds()}};
    return results;
  }

  void describe(Results& results) const {
    results.tool = describe_tool(pool_.threads());
    results.model = {{"name", info_.name},         {"family", info_.family},
                     {"layers", info_.layers},     {"heads", info_.heads},
                     {"kv_heads", info_.kv_heads}, {"head_dim", info_.head_dim}};
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
    const bool roles = std::ranges::find(options.measures, "roles") != options.measures.end();
    if (roles && !info_.has_tokens) {
      say("no token ids are known: what needs them (weight_duplicate, weight_induction) is "
          "undefined");
    }
    say(untrained_notice(longest, info_));
    for (std::string& notice : short_document_notices(rows().lengths(), info_, results)) {
      say(std::move(notice));
    }
    // Of the default sizes those that fit are taken, as of lengths.
    const std::vector<int> beyond = sizes_beyond(options.measure.top_n, longest);
    if (!beyond.empty() && options.measure.top_n != MeasureOptions{}.top_n && info_.has_x &&
        measures_sets(options)) {
      say(
          fmt::format("no query sees more than {} keys: there are no sets of N = {}, whose values "
                      "are undefined",
                      longest, fmt::join(beyond, ", ")));
    }
    if (rows_without_keys_ > 0) {
      say(fmt::format(
          "{} rows of heads see no key, for all of their scores are -Inf: they are left out",
          rows_without_keys_));
    }
    for (std::string& notice : plan_.intervention.notices(info_, longest)) say(std::move(notice));
  }

  void write_metrics(Results& results) const {
    write_coords(measured_, rows(), plan_.options.measure, info_, results);
    for (const auto& [name, labels] : layout().written_coords()) results.set_coord(name, labels);
    std::vector<const LayerTable*> layers;
    for (int layer = 0; layer < part_.first_layer; ++layer) {
      layers.push_back(part_.before->layers[layer].get());
    }
    for (const auto& table : tables_.layers) layers.push_back(table.get());
    write_row_metrics(measured_, layout(), layers, plan_.selection, results);
    const std::vector<const LayerStatistics*> statistics(layers.begin(), layers.end());
    for (const auto& measure : tables_.measures) measure->derive(statistics, results);
    results.passages = passages_around(results.examples, source_);
  }

  // What a scan that was stopped cannot know.
  void leave_out(bool layers_missing, Results& results) const {
    std::vector<std::string> dropped;
    if (layers_missing) dropped = drop_whole_model_metrics(results);
    if (wants_loss()) dropped.push_back("loss");
    std::erase_if(dropped, is_interval_end);  // goes without saying
    if (dropped.empty()) return;
    results.notices.push_back(fmt::format(
        "interrupted: what is of the whole model is left out ({})", fmt::join(dropped, ", ")));
  }

  void write_loss(Results& results) const {
    std::vector<std::vector<double>> losses;
    for (std::size_t d = 0; d < rows().documents().size(); ++d) {
      losses.push_back(source_.token_losses(static_cast<int>(d)));
    }
    LabelledArray& loss = add_declared(results, "loss").with_standard_errors().with_rows();
    for (Index l = 0; l < std::ssize(rows().lengths()); ++l) {
      loss.set({l}, series_statistics(losses, rows().lengths()[l] - 1));
    }
  }

  void note_missing_texts(Results& results) const {
    if (results.examples.empty() || !results.passages.empty()) return;
    results.notices.push_back(
        fmt::format("{} gives no text of its tokens: the examples are positions and weights alone",
                    info_.name));
  }

  void note_few_heads(Results& results) const {
    const std::size_t heads = measured_.layers.size() * measured_.heads.size();
    if (results.metric("critical_n") == nullptr || critical_n_can_be_shown(results, heads)) return;
    results.notices.push_back(
        fmt::format("critical_n: {} heads are too few to show anything at this level; read "
                    "critical_n_head instead",
                    heads));
  }

  const Stopwatch total_;
  HeadSource& source_;
  const SourceInfo& info_;
  const ScanPlan& plan_;
  const ScanPart& part_;
  Progress* progress_;
  const std::stop_token& stop_;
  ThreadPool pool_;
  Measured measured_;
  ScanTables tables_;
  bool asks_loss_ = false;
  int last_layer_ = 0;
  std::size_t bytes_ = 0;  // memory that it takes, known before the work begins
  bool stopped_ = false;
  Index rows_without_keys_ = 0;
  double forward_seconds_ = 0, measure_seconds_ = 0;
};

}  // namespace

ScanTables::ScanTables() = default;
ScanTables::ScanTables(ScanTables&&) noexcept = default;
ScanTables& ScanTables::operator=(ScanTables&&) noexcept = default;
ScanTables::~ScanTables() = default;

Results scan(HeadSource& source, const ScanOptions& options, Progress* progress,
             std::stop_token stop) {
  ScanPlan whole = plan_scan(options, source.info());
  if (options.examples > 0) {
    const MeasureMaker examples = [=](const MeasureOptions& measure, const SourceInfo&, int slots) {
      return make_examples_measure(options.examples, measure.lengths.back(), slots);
    };
    whole.options.own_measures.push_back(examples);
  }
  // A pattern and a measure of the caller may look at any query.
  const bool only_rows = whole.intervention.pattern == nullptr && options.own_measures.empty();
  const auto pass = [&](const ScanPlan& plan, Progress* part) {
    return run_scan(source, plan, {.only_rows = only_rows}, part, stop);
  };
  return source.info().causal ? pass(whole, progress)
                              : pass_over_lengths(source, whole, pass, progress);
}

Results run_scan(HeadSource& source, const ScanPlan& plan, const ScanPart& part, Progress* progress,
                 const std::stop_token& stop) {
  std::optional<Scan> scan;
  try {
    scan.emplace(source, plan, part, progress, stop);
    scan->require_room();
    return scan->run();
  } catch (const std::bad_alloc&) {
    if (scan) throw scan->out_of_memory();
    throw ResourceError(fault("memory", "room for what is measured", "none left",
                              "measure fewer groups, or use fewer threads"));
  }
}

std::vector<MetricInfo> scan_metrics(const ScanOptions& options, const SourceInfo& source) {
  const ScanPlan plan = plan_scan(options, source);
  std::vector<MetricInfo> metrics =
      declared_metrics(make_measures(plan, source, plan.options.threads));
  std::erase_if(metrics, [](const MetricInfo& metric) {
    return metric.kind == MetricKind::hidden || metric.kind == MetricKind::passed_on;
  });
  return metrics;
}

}  // namespace headgauge
