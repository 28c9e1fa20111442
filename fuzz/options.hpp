// What is done with the small languages of options: selections of heads, patterns and normalizers
// with their parameters, lists of them, plan files, and whole command lines.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cli/words.hpp"
#include "fuzz/contract.hpp"
#include "headgauge/attention_plan.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/diff.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/patterns.hpp"
#include "headgauge/plan.hpp"
#include "headgauge/results.hpp"
#include "headgauge/scan.hpp"
#include "headgauge/synthetic.hpp"

namespace headgauge::fuzzing {

// The rows of a small head, of which every query is shown to a pattern.
inline constexpr Index kRows = 12;
inline constexpr Index kDimension = 2;

inline void use_pattern(std::string_view spec) {
  const auto pattern = make_pattern(spec);
  const PatternInfo& info = pattern->info();
  if (!info.parameters.empty()) make_pattern(info.name + ":" + info.parameters.text());
  for (const Index context : {Index{1}, Index{1000}, Index{1} << 40}) {
    const Index cached = pattern->cached_keys(context);
    require(cached >= 0 && cached <= context);
  }
  Matrix<float> vectors(kRows, kDimension);
  for (Index i = 0; i < kRows; ++i) vectors(i, i % kDimension) = static_cast<float>(i) - 4;
  for (const Visibility& visibility : {Visibility::causal(), Visibility::full()}) {
    HeadInput head;
    head.queries = head.keys = vectors;
    head.visibility = visibility;
    const auto mask = pattern->mask(head);
    for (Index query = 0; query < kRows; ++query) {
      const KeyRange range = visibility.range(query, kRows);
      std::vector<float> logits(range.size());
      for (Index j = 0; j < range.size(); ++j) logits[j] = static_cast<float>(j % 5);
      std::vector<std::uint32_t> keys;
      mask->select(query, range, logits, keys);
      require(std::ranges::is_sorted(keys, std::ranges::less_equal()) &&
              (keys.empty() || (keys.front() >= range.begin && keys.back() < range.end)));
    }
  }
}

inline void use_normalizer(std::string_view spec) {
  const auto normalizer = make_normalizer(spec);
  const NormalizerInfo& info = normalizer->info();
  if (!info.parameters.empty()) make_normalizer(info.name + ":" + info.parameters.text());
  const std::vector<double> row = {-3, 0, 0, 0.5, 20, 1e4};
  const std::vector<float> narrow(row.begin(), row.end());
  for (std::size_t n = 1; n <= row.size(); ++n) {
    const RowContext context{static_cast<Index>(n), static_cast<Index>(n) - 1};
    std::vector<double> weights(n);
    std::vector<float> narrow_weights(n);
    works_or_is_refused([&] { normalizer->weigh(std::span(row).first(n), context, weights); });
    works_or_is_refused(
        [&] { normalizer->weigh(std::span(narrow).first(n), context, std::span(narrow_weights)); });
    static_cast<void>(normalizer->lipschitz(context));
    static_cast<void>(normalizer->softmax_scale(context));
  }
  static_cast<void>(normalizer->notice(1000));
}

inline void use_specs(std::string_view list) {
  CompareOptions options;
  std::vector<Option> declared = options_of(options);
  if (!try_to_set(find_option(declared, "pattern"), std::string(list)).empty()) return;
  for (const std::string& spec : options.patterns) {
    works_or_is_refused([&] { use_pattern(spec); });
    works_or_is_refused([&] { use_normalizer(spec); });
  }
}

// Layers and heads, with a line break between them.
inline void use_selection(std::string_view text) {
  constexpr int kLayers = 5, kHeads = 4;
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string_view heads = text.substr(std::min(line + 1, text.size()));
  const HeadSelection selection(text.substr(0, line), heads, kLayers, kHeads);
  bool any = false;
  for (int l = 0; l < kLayers; ++l) {
    for (int h = 0; h < kHeads; ++h) {
      require(!selection.contains(l, h) || selection.layer(l));
      any = any || selection.contains(l, h);
    }
  }
  require(any);
}

inline void use_plan(std::string_view text) {
  const AttentionPlan plan = parse_plan(text, "input");
  SourceInfo source;
  source.layers = plan.heads.layers();
  source.heads = source.kv_heads = plan.heads.heads();
  source.head_dim = 4;
  static_cast<void>(make_interventions(plan.heads, source));
  const double share = cache_share(plan.heads, source, std::max<Index>(plan.context, 1));
  require(share >= 0 && share <= 1);
  write_plan(plan, "/dev/null");
}

// The options of all commands, as the command line has them.
struct CommandLine {
  CommandLine() {
    add("scan", options_of(scan));
    add("compare", options_of(compare));
    add("converge", options_of(converge));
    add("synthetic", options_of(synthetic));
    add("diff", options_of(diff));
    add("plan", options_of(plan));
  }
  void add(const char* name, std::vector<Option> options) {
    app.add({.name = name, .options = options});
    declared.push_back(std::move(options));
  }

  cli::CommandNode app;
  ScanOptions scan;
  CompareOptions compare;
  ConvergeOptions converge;
  SyntheticOptions synthetic;
  DiffOptions diff;
  PlanOptions plan;
  std::vector<std::vector<Option>> declared;
};

// Arguments with spaces between them.
inline void use_arguments(std::string_view text) {
  static CommandLine line;
  std::vector<std::string> arguments(1);
  for (const char c : text) {
    if (c == ' ') {
      arguments.emplace_back();
    } else {
      arguments.back() += c;
    }
  }
  std::string shown;
  cli::take_words(line.app, arguments, shown);
  nlohmann::ordered_json settings;
  for (const auto& options : line.declared) write_settings(options, settings);
}

// The first line says which language the rest is in.
inline void read_options(std::span<const std::byte> bytes) {
  const std::string_view text = text_of(bytes);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string_view language = text.substr(0, line);
  const std::string_view rest = text.substr(std::min(line + 1, text.size()));
  if (language == "pattern") return use_pattern(rest);
  if (language == "normalizer") return use_normalizer(rest);
  if (language == "specs") return use_specs(rest);
  if (language == "heads") return use_selection(rest);
  if (language == "plan") return use_plan(rest);
  if (language == "arguments") return use_arguments(rest);
}

}  // namespace headgauge::fuzzing
