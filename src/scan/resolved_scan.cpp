#include "scan/resolved_scan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include "headgauge/parallel.hpp"

#include <algorithm>
#include <cmath>

namespace headgauge {
namespace {

constexpr int kSampledQueries = 64;          // queries per bin beyond the next length
constexpr Index kLongestWithAllRows = 8192;  // longest length at which all rows are measured

template <class T>
void sort_and_drop_repeated(std::vector<T>& values) {
  std::ranges::sort(values);
  const auto repeated = std::ranges::unique(values);
  values.erase(repeated.begin(), repeated.end());
}

Index longest_document(const SourceInfo& source) {
  const std::vector<Index> lengths = source.measured_lengths();
  return lengths.empty() ? 0 : *std::ranges::max_element(lengths);
}

// Returns the tokens that automatic lengths may use: those of the longest text or, without a text,
// those of the shortest case.
Index auto_tokens(const SourceInfo& source) {
  Index tokens = longest_document(source);
  for (const Index length : source.measured_lengths()) {
    if (!source.has_text() && length > 0) tokens = std::min(tokens, length);
  }
  return tokens;
}

// Returns the limit of automatic lengths; 0: none.
Index longest_auto(const SourceInfo& source) {
  return source.max_length > 0 ? source.max_length : source.trained_length;
}

void resolve_lengths(ScanOptions& options, const SourceInfo& source) {
  constexpr const char* kWhere = "ScanOptions::lengths";
  const Index tokens = longest_document(source);
  if (options.lengths.empty())
    options.lengths = auto_lengths(auto_tokens(source), longest_auto(source));
  sort_and_drop_repeated(options.lengths);
  refuse_if<UsageError>(options.lengths.front() < 1, kWhere, "lengths of at least 1",
                        std::to_string(options.lengths.front()), "correct the list");
  const Index longest = options.lengths.back();
  refuse_if(source.max_length > 0 && longest > source.max_length, kWhere,
            fmt::format("at most {} (the longest context of {})", source.max_length, source.name),
            std::to_string(longest), "ask for shorter lengths");
  if (longest > tokens) {
    throw BadInputError(
        fault(kWhere, fmt::format("at most {} (the text has {} tokens)", tokens, tokens),
              std::to_string(longest),
              fmt::format("choose from {}, or give a longer text",
                          fmt::join(auto_lengths(tokens, longest_auto(source)), ", "))));
  }
}

void resolve_details(MeasureOptions& measure) {
  sort_and_drop_repeated(measure.top_n);
  refuse_if<UsageError>(measure.top_n.empty() || measure.top_n.front() < 1, "MeasureOptions::top_n",
                        "set sizes of at least 1",
                        measure.top_n.empty() ? "none" : std::to_string(measure.top_n.front()),
                        "correct the list");
  if (measure.temperatures.empty()) {
    for (int i = 0; i < 31; ++i) measure.temperatures.push_back(std::pow(10.0, -2 + 0.1 * i));
  }
}

// Describes the requirements of the groups: "distance, separability and coverage need the vectors
// x, ...".
std::string needs_of_groups() {
  using enum MetricGroup::Needs;
  std::vector<std::string> needs;
  for (const auto what : {x, shares, loss, intervention, answers}) {
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

// Selects all groups that the source allows, if nothing was requested, not even a measure of the
// caller's. Requested groups that it does not allow are left out; if no group remains, that is an
// error.
void resolve_measures(ScanOptions& options, const SourceInfo& source) {
  if (std::ranges::count(options.measures, "all") > 0) options.measures.clear();
  std::vector<std::string> possible;
  for (const MetricGroup& group : metric_groups()) {
    if (group.command == "scan" && can_measure(group, options.measure, source)) {
      possible.push_back(group.name);
    }
  }
  if (options.measures.empty() && !options.own_measures.empty()) return;
  if (options.measures.empty()) options.measures = possible;
  const auto allowed = [&](const std::string& group) {
    return std::ranges::find(possible, group) != possible.end() ||
           std::ranges::find(measure_groups(), group) == measure_groups().end();
  };
  if (std::ranges::any_of(options.measures, allowed)) return;
  const bool lost = source.has_loss && !has_predictions(options.measure, source);
  throw UnsupportedError(
      fault("ScanOptions::measures",
            fmt::format("a group that {} allows ({})", source.name, fmt::join(possible, ", ")),
            fmt::format("{}", fmt::join(options.measures, ", ")),
            lost ? why_no_predictions(options, source) : needs_of_groups()));
}

// The default applies to a scan of heads in few texts whose tokens are known.
int usual_examples(const ScanOptions& options, const SourceInfo& source) {
  const auto is_of_heads = [](const MetricGroup& group) {
    return group.needs != MetricGroup::Needs::loss && group.needs != MetricGroup::Needs::answers;
  };
  const bool of_heads = std::ranges::any_of(options.measures, [&](const std::string& name) {
    const auto group = std::ranges::find(metric_groups(), name, &MetricGroup::name);
    return group != metric_groups().end() && is_of_heads(*group);
  });
  const auto is_there = [](Index length) { return length > 0; };
  const auto measured = std::ranges::count_if(source.measured_lengths(), is_there);
  const bool are_few = measured <= static_cast<Index>(kDocumentsWithExamples);
  return of_heads && source.has_texts && are_few ? kUsualExamples : 0;
}

}  // namespace

std::string why_no_predictions(const ScanOptions& options, const SourceInfo& source) {
  const bool masks = options.pattern != "none";
  return fmt::format(
      "heads are measured under {0}, but the model runs without it, so no loss is kept: "
      "`headgauge compare MODEL TEXT{1} --{2} {0}` runs the model under it",
      masks ? options.pattern : options.normalizer, source.answers.empty() ? "" : " TASKS",
      masks ? "pattern" : "normalizer");
}

std::vector<int> auto_lengths(Index tokens, Index max_length) {
  const Index limit = max_length > 0 ? std::min(tokens, max_length) : tokens;
  std::vector<int> lengths;
  for (int length = 32; length <= 1024 && length <= limit; length *= 2) lengths.push_back(length);
  if (limit < 1024 && (lengths.empty() || lengths.back() != limit) && limit >= 2) {
    lengths.push_back(static_cast<int>(limit));
  }
  refuse_if(lengths.empty(), "text", "at least 2 tokens", std::to_string(tokens),
            "give a longer text");
  return lengths;
}

void require_causal(const Normalizer& normalizer, const std::string& spec,
                    const SourceInfo& source) {
  if (source.causal || !normalizer.traits().by_position) return;
  throw UsageError(fault(spec,
                         "a causal model, for this normalizer depends on the query's position",
                         source.name + ", whose queries see the whole text",
                         "use logn-entropy, which depends on the number of keys"));
}

void sort_lists(ScanOptions& options) {
  sort_and_drop_repeated(options.lengths);
  sort_and_drop_repeated(options.measure.top_n);
}

ResolvedScan resolve_scan(const ScanOptions& given, const SourceInfo& source) {
  ResolvedScan plan;
  plan.options = given;
  ScanOptions& options = plan.options;
  if (options.own_normalizer != nullptr) options.normalizer = options.own_normalizer->info().name;
  if (options.own_pattern != nullptr) options.pattern = options.own_pattern->info().name;
  resolve_lengths(options, source);
  resolve_details(options.measure);
  options.measure.lengths = options.lengths;
  options.measure.seed = options.seed;
  const bool masks = options.own_pattern != nullptr || options.pattern != "none";
  const bool weighs = options.own_normalizer != nullptr || options.normalizer != "softmax";
  using enum MeasureOptions::Changed;
  options.measure.changed = masks ? pattern : weighs ? normalizer : nothing;
  options.threads = thread_count(options.threads);
  resolve_measures(options, source);
  if (!options.queries) {
    options.queries = options.lengths.back() > kLongestWithAllRows ? kSampledQueries : 0;
  }
  if (!options.examples) options.examples = usual_examples(options, source);
  plan.selection = HeadSelection(options.layers, options.heads, source.layers, source.heads,
                                 "ScanOptions", source.without_attention);
  plan.intervention = {options.own_normalizer, options.own_pattern};
  if (options.own_normalizer == nullptr && weighs) {
    plan.intervention.normalizer = make_normalizer(options.normalizer);
  }
  if (plan.intervention.normalizer != nullptr) {
    require_causal(*plan.intervention.normalizer, options.normalizer, source);
  }
  if (options.own_pattern == nullptr && masks) {
    plan.intervention.pattern = make_pattern(options.pattern);
    require_dropped_keys(options.pattern, "ScanOptions::pattern", source, plan.longest());
  }
  return plan;
}

ResolvedScan ResolvedScan::at_length(int length) const {
  ResolvedScan one = *this;
  one.options.lengths = one.options.measure.lengths = {length};
  return one;
}

std::vector<std::unique_ptr<Measure>> make_measures(const ResolvedScan& plan,
                                                    const SourceInfo& source, int slots) {
  const ScanOptions& options = plan.options;
  std::vector<std::unique_ptr<Measure>> measures;
  // No groups are measured if the caller only wants their own measures.
  if (!options.measures.empty()) {
    measures = make_measures(options.measures, options.measure, source, slots);
  }
  for (const MeasureMaker& make : options.own_measures) {
    measures.push_back(make(options.measure, source, slots));
  }
  return measures;
}

}  // namespace headgauge
