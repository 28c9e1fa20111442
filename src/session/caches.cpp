#include "session/caches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include "findings/costs.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/patterns.hpp"
#include "headgauge/text.hpp"
#include "results/sentences.hpp"
#include "scan/resolved_scan.hpp"

namespace headgauge {
namespace {

constexpr Index kSinks = 4;                         // first tokens that a window keeps
constexpr Index kLargest = 1 << 28;                 // tokens of a window
constexpr int kShortestTrial = 64;                  // tokens, for a scan to try smaller caches
constexpr int kSixteenths[] = {1, 2, 4, 6, 8, 12};  // of the text, by default
// Operations for each query and key of a head in a scan of all metrics, beside one multiplication
// for each parameter in a pass (docs/performance.md).
constexpr double kPairCost = 1e4;
constexpr int kCases = 32;  // 29 of 29 answers show that at least 90 % are kept

Index size_of(const std::string& text) {
  Index size = 0;
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data(), end, size).ptr == end && size > kSinks && size <= kLargest)
    return size;
  throw UsageError(fault("CompareRequest::windows",
                         fmt::format("whole numbers above {}, or auto", kSinks), in_quotes(text),
                         "correct the list"));
}

std::string window_of(Index size) {
  return fmt::format("sinks:sinks={},window={}", kSinks, size - kSinks);
}

// Returns how many tokens every text has, up to `most`.
Index tokens_of_all(Input input, Index most) {
  input.lengths = {static_cast<int>(most)};
  for (const Document& text : load_documents(input)) most = std::min(most, std::ssize(text));
  return most;
}

}  // namespace

std::vector<std::string> add_windows(Input& input, CompareRequest& request) {
  if (request.windows.empty()) return {};
  std::vector<int>& lengths = request.options.scan.lengths;
  const bool is_auto = request.windows == std::vector<std::string>{"auto"};
  std::vector<Index> sizes;
  for (const std::string& window : request.windows) {
    if (!is_auto) sizes.push_back(size_of(window));
  }
  std::vector<std::string> notices;
  const bool has_context = !input.model.has_own_queries();
  if (has_context && (lengths.empty() || is_auto)) {
    const ModelSummary& model = input.model.summary();
    const Index trained = model.positions > 0 ? model.positions : model.trained_length;
    const Index window = is_auto ? 0 : *std::ranges::max_element(sizes);
    Index wanted = is_auto ? longest_auto(model) : 4 * window;
    if (!lengths.empty()) wanted = *std::ranges::max_element(lengths);
    const Index context = trained > 0 ? std::min(wanted, trained) : wanted;
    const Index longest = input.texts.empty() ? context : tokens_of_all(input, context);
    for (const int part : kSixteenths) {
      const Index size = longest * part / 16;
      if (is_auto && size > kSinks) sizes.push_back(size);
    }
    if (sizes.empty()) {
      throw UsageError(fault("CompareRequest::windows", "a text of 7 tokens or more",
                             fmt::format("one of {}", longest), "give a longer text"));
    }
    std::vector<int> chosen = {static_cast<int>(longest)};
    if (2 * window < longest && !is_auto)
      chosen.insert(chosen.begin(), static_cast<int>(2 * window));
    if (lengths.empty()) input.lengths = chosen;
    if (lengths.empty() && !input.texts.empty()) lengths = chosen;
    if (longest < 2 * window && longest > window) {
      notices.push_back(fmt::format(
          "a cache of {} tokens is measured at {} tokens alone, where the {} ends: {} tokens lose "
          "keys there, and a longer text says more",
          window, longest, longest < context ? "text" : "context of the model", longest - window));
    }
  }
  for (const Index size : sizes) {
    std::string pattern = window_of(size);
    auto& patterns = request.options.patterns;
    if (std::ranges::count(patterns, pattern) == 0) patterns.push_back(std::move(pattern));
  }
  return notices;
}

Cases cases_to_compare(const Input& input, CompareRequest& request) {
  const CompareOptions& options = request.options;
  TaskFiles& tasks = request.tasks;
  const bool refused = tasks.probes == std::vector<std::string>{"none"};
  if (refused) tasks.probes.clear();
  const bool asks = !options.patterns.empty() && options.each == Each::none && tasks.empty() &&
                    !refused && input.model.has_name() && !input.model.has_own_queries();
  if (!asks) return load_cases(input, tasks, options.scan.seed);
  const TaskFiles none = tasks;
  tasks.probes = {"passkey"};
  if (tasks.cases == 0) tasks.cases = kCases;
  try {
    if (!input.model.has_tokenizer()) throw UsageError("the model has no tokenizer");
    return load_cases(input, tasks, options.scan.seed);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted || error.kind() == ErrorKind::resource) throw;
    tasks = none;
    return {.notices = {fmt::format("no answers were asked for: {}", error.what())}};
  }
}

std::shared_ptr<HeadSource> open_to_compare(Input& input, CompareRequest& request,
                                            const TaskFiles& asked,
                                            std::vector<std::string>& notices) {
  try {
    return open_source(input);
  } catch (const UnsupportedError& error) {
    if (!asked.empty() || input.cases.documents.empty() || input.texts.empty()) throw;
    notices.push_back(fmt::format("no answers were asked for: {}", error.what()));
    input.cases = {};
    request.tasks = asked;
    return open_source(input);
  }
}

std::optional<double> pass_over_scan(const Input& input, const ScanRequest& request,
                                     const SourceInfo& source) {
  const ScanOptions& options = request.options;
  const bool of_all =
      (options.measures.empty() || std::ranges::count(options.measures, "all") > 0) &&
      options.own_measures.empty() && options.layers.empty() && options.heads.empty();
  const bool as_it_is = options.own_normalizer == nullptr && options.own_pattern == nullptr &&
                        options.normalizer == "softmax" && options.pattern == "none" &&
                        request.plan.empty();
  const int longest = resolve_scan(options, source).options.lengths.back();
  if (!of_all || !as_it_is || !source.causal || !source.has_loss || !source.has_text() ||
      !input.model.has_name() || longest < kShortestTrial) {
    return std::nullopt;
  }
  const double length = longest;
  const double heads = static_cast<double>(source.attention_layers().size()) * source.heads;
  const double pass = 2 * static_cast<double>(input.model.summary().parameters) * length;
  return pass / (pass + kPairCost * heads * length * length / 2);
}

Results try_caches(HeadSource& source, const ScanOptions& options, RunObserver* observer,
                   std::stop_token stop) {
  const int length = resolve_scan(options, source.info()).options.lengths.back();
  CompareOptions compared{.scan = options};
  compared.scan.lengths = {length};
  compared.scan.measures = {"model", "answers"};
  compared.scan.examples = 0;
  compared.scan.layers = source.info().layers_without_window(length);
  compared.patterns = {window_of(length / 2), window_of(length / 4),
                       fmt::format("window:size={}", length / 2)};
  std::erase_if(compared.patterns, [&](const std::string& spec) {
    return queries_with_all_keys(*make_pattern(spec), source.info(), length) == length;
  });
  if (compared.patterns.empty()) return {};  // the model's own windows are shorter
  const auto changes = make_interventions(compared, source.info());
  try {
    return compare(source, compared, changes, observer, std::move(stop));
  } catch (const AttentionError& error) {
    Results none;
    none.set_coord("pattern", std::vector<std::string>());
    none.notices.push_back(fmt::format("every smaller cache is left out: {}", error.what()));
    return none;
  }
}

void add_caches(const Results& compared, Results& results) {
  const Dimension& patterns = compared.require_coord("pattern");
  std::vector<std::string> names;
  std::vector<Index> kept;
  for (Index k = 1; k < patterns.size(); ++k) {
    names.push_back(patterns.label(k));
    kept.push_back(k);
  }
  std::ranges::copy_if(
      compared.notices, std::back_inserter(results.notices),
      [](const std::string& one) { return one.find(" is left out: ") != one.npos; });
  if (kept.empty()) return;
  results.set_coord(kSmaller, names);
  for (const char* name :
       {metric::loss_change, metric::loss_change_lost_keys, metric::answers_kept}) {
    const LabelledArray* from = compared.metric(name);
    if (from == nullptr) continue;
    const LabelledArray longest = from->has_dim("length") ? from->isel("length", 0) : *from;
    const LabelledArray changed = longest.take("pattern", kept);
    std::vector<Dimension> dims = changed.dims();
    std::ranges::replace_if(
        dims, [](const Dimension& dim) { return dim.name() == "pattern"; },
        results.require_coord(kSmaller));
    LabelledArray to = undefined_like(changed, std::move(dims));
    to.change_of.clear();
    changed.each([&](std::span<const Index> at, std::size_t) { to.set(at, changed.at(at)); });
    const bool of_all = name == std::string_view(metric::loss_change);  // a diff has that name, too
    results.add_metric(of_all ? metric::smaller_loss_change : name, std::move(to));
  }
}

void say_what_is_open(double pass, const Results& results, std::vector<SummaryLine>& lines) {
  // `headgauge cache` needs as many; an answer takes three eighths of a pass with all losses.
  constexpr double kPasses = 7 + 3 * kCases;
  Scope scope;
  scope.count("times", std::ceil(kPasses * pass));
  scope.give_if("has_tried", results.coord(kSmaller) != nullptr);
  if (results.metric(metric::answers_kept) == nullptr)
    add_sentences("trial", results, scope, lines);
}

}  // namespace headgauge
