#include "headgauge/scan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <thread>

#include "base/memory.hpp"
#include "headgauge/parallel.hpp"
#include "headgauge/patterns.hpp"
#include "kernels/simd.hpp"
#include "scan/flags.hpp"
#include "scan/head_scanner.hpp"
#include "scan/output.hpp"
#include "scan/passes.hpp"
#include "scan/plan.hpp"
#include "scan/run.hpp"
#include "scan/statistics.hpp"
#include "scan/stopwatch.hpp"
#include "scan/summary.hpp"

namespace headgauge {
namespace {

constexpr int kSampledQueries = 64;          // a bin, beyond ...
constexpr Index kLongestWithAllRows = 8192;  // ... this length

Index longest_document(const SourceInfo& source) {
  return source.documents.empty() ? 0 : *std::ranges::max_element(source.documents);
}

// "distance, separability and coverage need the vectors x, ...": what not every source and scan
// has.
std::string needs_of_groups() {
  using enum MetricGroup::Needs;
  std::vector<std::string> needs;
  for (const auto what : {x, loss, pattern}) {
    std::vector<std::string> names;
    for (const MetricGroup& group : metric_groups()) {
      if (group.needs == what) names.push_back(group.name);
    }
    const std::string last = names.back();
    names.pop_back();
    needs.push_back(names.empty() ? fmt::format("{} needs {}", last, in_words(what))
                                  : fmt::format("{} and {} need {}", fmt::join(names, ", "), last,
                                                in_words(what)));
  }
  return fmt::format("{}", fmt::join(needs, ", "));
}

// All groups that the source allows, if none was asked for. Of those asked for, what it does not
// allow is absent; where that leaves nothing there is nothing to do.
void resolve_measures(ScanOptions& options, const SourceInfo& source) {
  std::vector<std::string> possible;
  for (const MetricGroup& group : metric_groups()) {
    if (group.command == "scan" && can_measure(group, options.measure, source)) {
      possible.push_back(group.name);
    }
  }
  if (options.measures.empty()) options.measures = possible;
  const auto allowed = [&](const std::string& group) {
    return std::ranges::find(possible, group) != possible.end() ||
           std::ranges::find(measure_groups(), group) == measure_groups().end();
  };
  if (std::ranges::any_of(options.measures, allowed)) return;
  throw UnsupportedError(
      fault("--measures",
            fmt::format("a group that {} allows ({})", source.name, fmt::join(possible, ", ")),
            fmt::format("{}", fmt::join(options.measures, ", ")), needs_of_groups()));
}

// Whether sets of top_n are measured.
bool measures_sets(const ScanOptions& options) {
  return std::ranges::any_of(all_metrics(), [&](const MetricInfo& metric) {
    return std::ranges::find(metric.dims, "top_n") != metric.dims.end() &&
           std::ranges::find(options.measures, metric.group) != options.measures.end();
  });
}

// What auto goes no further than; 0: nothing.
Index longest_auto(const SourceInfo& source) {
  return source.max_length > 0 ? source.max_length : source.trained_length;
}

}  // namespace

ScanOptions resolve_options(ScanOptions options, const SourceInfo& source) {
  const Index tokens = longest_document(source);
  if (options.lengths.empty()) options.lengths = auto_lengths(tokens, longest_auto(source));
  std::ranges::sort(options.lengths);
  const auto repeated = std::unique(options.lengths.begin(), options.lengths.end());
  options.lengths.erase(repeated, options.lengths.end());
  if (options.lengths.front() < 1) {
    throw UsageError(fault("--lengths", "lengths of at least 1",
                           std::to_string(options.lengths.front()), "correct the list"));
  }
  const Index longest = options.lengths.back();
  if (source.max_length > 0 && longest > source.max_length) {
    throw BadInputError(
        fault("--lengths",
              fmt::format("at most {} (the longest context of {})", source.max_length, source.name),
              std::to_string(longest), "ask for shorter lengths"));
  }
  if (longest > tokens) {
    throw BadInputError(
        fault("--lengths", fmt::format("at most {} (the text has {} tokens)", tokens, tokens),
              std::to_string(longest),
              fmt::format("possible are {}, or give a longer text",
                          fmt::join(auto_lengths(tokens, longest_auto(source)), ", "))));
  }
  MeasureOptions& measure = options.measure;
  std::ranges::sort(measure.top_n);
  const auto twice = std::unique(measure.top_n.begin(), measure.top_n.end());
  measure.top_n.erase(twice, measure.top_n.end());
  if (measure.top_n.empty() || measure.top_n.front() < 1) {
    throw UsageError(fault("--top-n", "set sizes of at least 1",
                           measure.top_n.empty() ? "none" : std::to_string(measure.top_n.front()),
                           "correct the list"));
  }
  if (measure.temperatures.empty()) {
    for (int i = 0; i < 31; ++i) measure.temperatures.push_back(std::pow(10.0, -2 + 0.1 * i));
  }
  measure.lengths = options.lengths;
  measure.seed = options.seed;
  measure.masked = options.pattern != "none";
  if (options.threads < 1) {
    options.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  resolve_measures(options, source);
  if (!options.queries) options.queries = longest > kLongestWithAllRows ? kSampledQueries : 0;
  return options;
}

namespace {

void write_loss(HeadSource& source, const RowPlan& plan, Results& results) {
  std::vector<std::vector<double>> losses;
  for (std::size_t d = 0; d < plan.documents().size(); ++d) {
    losses.push_back(source.token_losses(static_cast<int>(d)));
  }
  LabelledArray& loss = add_means(results, "loss", {"length"}, "nats");
  for (std::size_t l = 0; l < plan.lengths().size(); ++l) {
    put_mean(loss, l, series_statistics(losses, plan.lengths()[l] - 1));
  }
}

constexpr const char* kLessMemory =
    "use shorter --lengths, fewer --measures, or --queries to sample rows";

constexpr const char* kFewerThreads =
    "use fewer --threads (no more than there are cores help), or shorter --lengths";

// `estimate`: the memory that it takes, known before the work begins.
Results scan_within(HeadSource& source, const ScanOptions& given, ScanExtras extras,
                    Progress* progress, const std::stop_token& stop, std::size_t& estimate);

}  // namespace

std::vector<int> auto_lengths(Index tokens, Index max_length) {
  const Index limit = max_length > 0 ? std::min(tokens, max_length) : tokens;
  std::vector<int> lengths;
  for (int length = 32; length <= 1024 && length <= limit; length *= 2) lengths.push_back(length);
  if (limit < 1024 && (lengths.empty() || lengths.back() != limit) && limit >= 2) {
    lengths.push_back(static_cast<int>(limit));
  }
  if (lengths.empty()) {
    throw BadInputError(
        fault("text", "at least 2 tokens", std::to_string(tokens), "give a longer text"));
  }
  return lengths;
}

ScanTables::ScanTables() = default;
ScanTables::ScanTables(ScanTables&&) noexcept = default;
ScanTables& ScanTables::operator=(ScanTables&&) noexcept = default;
ScanTables::~ScanTables() = default;

Results scan(HeadSource& source, const ScanOptions& given, Progress* progress,
             std::stop_token stop) {
  const auto pass = [&](const ScanOptions& options, Progress* part) {
    return scan_with(source, options, {}, part, stop);
  };
  return source.info().causal ? pass(given, progress)
                              : pass_over_lengths(source, given, pass, progress);
}

Results scan_with(HeadSource& source, const ScanOptions& given, ScanExtras extras,
                  Progress* progress, const std::stop_token& stop) {
  std::size_t estimate = 0;
  try {
    return scan_within(source, given, std::move(extras), progress, stop, estimate);
  } catch (const std::bad_alloc&) {
    // Another process took it, or the estimate was too low.
    throw ResourceError(fault("scan of " + source.info().name,
                              format_bytes(estimate) + " of memory, by estimate",
                              "that the system ran out of it", kLessMemory));
  }
}

namespace {

Results scan_within(HeadSource& source, const ScanOptions& given, ScanExtras extras,
                    Progress* progress, const std::stop_token& stop, std::size_t& estimate) {
  const Stopwatch total;
  const SourceInfo& info = source.info();
  const ScanOptions options = resolve_options(given, info);
  const HeadSelection selection(options.layers, options.heads, info.layers, info.heads);
  // What every head is measured under; a rule of its own goes before.
  HeadIntervention intervention;
  if (options.normalizer != "softmax") intervention.rule = make_rule(options.normalizer, info);
  if (options.measure.masked) intervention.pattern = make_pattern(options.pattern);
  ThreadPool pool(options.threads);
  ScanTables held;
  auto& measures = held.measures;
  if (!extras.alone) {
    measures = make_measures(options.measures, options.measure, info, pool.threads());
  }
  std::ranges::move(extras.measures, std::back_inserter(measures));
  held.layout = std::make_unique<CellLayout>(measures);
  const CellLayout& layout = *held.layout;
  held.plan =
      std::make_unique<RowPlan>(options.lengths, info.documents, *options.queries, options.seed);
  const RowPlan& plan = *held.plan;
  const bool asks_loss =
      !extras.alone && std::ranges::find(options.measures, "model") != options.measures.end();
  const bool wants_loss = info.has_loss && asks_loss;

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

  // A table of statistics for each layer, then the same once more as results.
  estimate =
      info.bytes +
      HeadScanner::bytes(plan.longest(), info.head_dim, pool.threads(), options.measure.masked) +
      static_cast<std::size_t>(info.heads) * HeadAccumulator::bytes(plan, layout.cells()) +
      2 * measured.layers.size() * LayerTable::bytes(plan, layout, info.heads);
  for (const auto& measure : measures) estimate += measure->bytes(info, plan.longest());
  const bool crowded = pool.threads() > static_cast<int>(std::thread::hardware_concurrency());
  require_memory(estimate, "scan of " + info.name, crowded ? kFewerThreads : kLessMemory);

  HeadScanner scanner(measures, layout, plan, pool);
  std::vector<HeadAccumulator> accumulators;
  for (int head = 0; head < info.heads; ++head) accumulators.emplace_back(plan, layout.cells());
  auto& tables = held.layers;
  double forward_seconds = 0, measure_seconds = 0;
  const int last_layer = wants_loss ? info.layers - 1 : measured.layers.back();
  const auto documents = static_cast<int>(plan.documents().size());
  bool stopped = false;
  for (int layer = extras.first_layer; layer <= last_layer && !stopped; ++layer) {
    for (auto& accumulator : accumulators) accumulator.clear();
    for (int document = 0; document < documents && !stopped; ++document) {
      if (progress != nullptr) {
        progress->update("measuring layer " + std::to_string(layer),
                         layer + static_cast<double>(document) / documents, last_layer + 1);
      }
      const Stopwatch forward;
      const auto heads = source.layer(layer, document);
      forward_seconds += forward.seconds();
      const Stopwatch measuring;
      for (const HeadInput& head : heads) {
        if (stop.stop_requested()) {
          stopped = true;
          break;
        }
        if (!selection.contains(layer, head.head)) continue;
        if (extras.observe) extras.observe(head);
        HeadInput changed = head;
        intervention.apply(changed);
        if (head.rule != nullptr) changed.rule = head.rule;
        scanner.scan(changed, accumulators[static_cast<std::size_t>(head.head)]);
      }
      measure_seconds += measuring.seconds();
    }
    if (stopped || !selection.layer(layer)) continue;
    const Stopwatch measuring;
    auto table = std::make_unique<LayerTable>(plan, layout, info.heads);
    pool.for_each(info.heads, [&](Index head) {
      if (selection.contains(layer, static_cast<int>(head))) {
        table->fill(head, accumulators[static_cast<std::size_t>(head)]);
      }
    });
    for (const auto& measure : measures) measure->end_layer(layer, *table, pool);
    tables.push_back(std::move(table));
    measure_seconds += measuring.seconds();
  }
  stopped = stopped || stop.stop_requested();

  Results results;
  results.partial = stopped;
  const std::size_t done = static_cast<std::size_t>(extras.first_layer) + tables.size();
  results.layers_done = static_cast<int>(done);
  const bool layers_missing = done < measured.layers.size();
  measured.layers.resize(done);
  results.tool = {{"name", "headgauge"},
                  {"version", HEADGAUGE_VERSION},
                  {"simd", simd_level()},
                  {"threads", pool.threads()}};
  results.model = {{"name", info.name},   {"family", info.family},     {"layers", info.layers},
                   {"heads", info.heads}, {"kv_heads", info.kv_heads}, {"head_dim", info.head_dim}};
  source.describe(results);
  results.notices = info.notices;
  if (asks_loss && !info.has_loss) {
    results.notices.push_back("there is no loss: " + why_no_loss(info));
  }
  const std::string untrained = untrained_notice(plan.longest(), info);
  if (!untrained.empty()) results.notices.push_back(untrained);
  std::ranges::copy(short_document_notices(plan.lengths(), info, results),
                    std::back_inserter(results.notices));
  const std::vector<int> beyond = sizes_beyond(options.measure.top_n, plan.longest());
  // Of the default sizes those that fit are taken, as of lengths.
  if (!beyond.empty() && options.measure.top_n != MeasureOptions{}.top_n && info.has_x &&
      measures_sets(options)) {
    results.notices.push_back(fmt::format(
        "no query sees more than {} keys: there are no sets of N = {}, whose values are undefined",
        plan.longest(), fmt::join(beyond, ", ")));
  }
  if (scanner.rows_without_keys() > 0) {
    results.notices.push_back(fmt::format(
        "{} rows of heads see no key, for all of their scores are -Inf: they are left out",
        scanner.rows_without_keys()));
  }
  for (const std::string& notice : intervention.notices(info, plan.longest())) {
    results.notices.push_back(notice);
  }
  write_settings(options, info, results);
  write_coords(measured, plan, options.measure, info, results);
  for (auto& [name, values] : layout.written_coords()) results.set_coord(name, values);
  std::vector<const LayerTable*> views;
  for (int layer = 0; layer < extras.first_layer; ++layer) {
    views.push_back(extras.before->layers[static_cast<std::size_t>(layer)].get());
  }
  for (const auto& table : tables) views.push_back(table.get());
  write_row_metrics(measured, plan, layout, views, selection, results);
  const std::vector<const LayerStatistics*> statistics(views.begin(), views.end());
  for (const auto& measure : measures) measure->derive(statistics, results);
  std::vector<std::string> dropped;
  if (layers_missing) dropped = drop_whole_model_metrics(results);
  const Stopwatch loss;
  if (stopped && wants_loss) dropped.push_back("loss");
  if (!dropped.empty()) {
    results.notices.push_back(fmt::format(
        "interrupted: what is of the whole model is left out ({})", fmt::join(dropped, ", ")));
  }
  if (wants_loss && extras.loss && !stopped) write_loss(source, plan, results);
  if (wants_loss) forward_seconds += loss.seconds();
  results.flags = find_flags(results);
  const std::size_t measured_heads = measured.layers.size() * measured.heads.size();
  if (results.metric("critical_n") != nullptr && !critical_n_can_reject(results, measured_heads)) {
    results.notices.push_back(
        fmt::format("critical_n: {} heads are too few for the Kolmogorov-Smirnov test to reject "
                    "anything at this level; read critical_n_head instead",
                    measured_heads));
  }
  results.timings = {
      {"forward_s", forward_seconds}, {"measure_s", measure_seconds}, {"total_s", total.seconds()}};
  if (progress != nullptr) progress->update("done", last_layer + 1, last_layer + 1);
  if (extras.kept != nullptr) *extras.kept = std::move(held);
  return results;
}

}  // namespace

}  // namespace headgauge
