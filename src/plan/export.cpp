// Plans for other tools; see plan.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "base/file.hpp"
#include "base/strict_json.hpp"
#include "headgauge/patterns.hpp"
#include "headgauge/plan.hpp"
#include "headgauge/text.hpp"
#include "plan/embedded_text.hpp"
#include "plan/export_folder.hpp"
#include "plan/export_hf.hpp"
#include "plan/export_layers.hpp"
#include "results/value_or.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

struct Format {
  const char* name;
  PlanFormat format;
  const char* tool;
};
constexpr std::array kFormats = {
    Format{"duo", PlanFormat::duo, "DuoAttention"},
    Format{"kvpress", PlanFormat::kvpress, "kvpress"},
    Format{"hf", PlanFormat::hf, "the code for transformers"},
    Format{"hf-layers", PlanFormat::hf_layers, "transformers without code"}};

const Format& described(PlanFormat format) {
  return *std::ranges::find(kFormats, format, &Format::format);
}

constexpr Index kLeastWindow = 16;  // keys of the default window of whole layers
// What DuoAttention trains with; of no effect where no head streams.
constexpr Index kDuoSinks = 64, kDuoRecent = 256;

using Streaming = Pattern::FirstAndLast;

// Returns the first and the last keys that a streaming head keeps; nothing for other patterns.
std::optional<Streaming> streaming(const std::string& spec) {
  return make_pattern(spec, "pattern of a plan")->first_and_last();
}

// Returns the press's table of patterns. A parameter counts the first keys, or the last ones, if
// they become more with it.
std::string press_patterns() {
  std::string table;
  for (const PatternInfo& pattern : patterns()) {
    const auto kept = streaming(pattern.name);
    if (!kept) continue;
    std::string first, last;
    for (const Parameter& parameter : pattern.parameters.declared()) {
      const Index value = pattern.parameters.whole(parameter.key);
      const auto more =
          streaming(fmt::format("{}:{}={}", pattern.name, parameter.key, value + 1)).value();
      const std::string entry = fmt::format("\"{}\": {}", parameter.key, value);
      if (more.first > kept->first) first = entry;
      if (more.last > kept->last) last = entry;
    }
    table += fmt::format("    \"{}\": {{{}, {}}},\n", pattern.name, first, last);
  }
  return "{\n" + table + "}";
}

// Returns the press with its table of patterns.
std::string press() {
  std::string text(press_text());
  constexpr std::string_view kTable = "PATTERNS: dict[str, dict[str, int]] = ";
  const std::size_t at = text.find(std::string(kTable) + "{}\n");
  return text.replace(at + kTable.size(), 2, press_patterns());
}

// Whether the tool can keep the sum of a head's values, for a running mean.
bool does_means(PlanFormat format) {
  return format == PlanFormat::hf;
}

// The same in every layer of the model: a head that has a window of its own has no running mean.
bool does_means(PlanFormat format, const SourceInfo& source) {
  return does_means(format) && std::ranges::all_of(source.windows, [](Index w) { return w == 0; });
}

// What the tool can do, for messages.
std::string able(PlanFormat format) {
  if (format == PlanFormat::hf_layers) return "a window without sinks or full attention";
  return fmt::format("sinks, window{} or full attention", does_means(format) ? ", uniform" : "");
}

void require_exported(const AttentionPlan& plan, PlanFormat format) {
  plan.heads.each([&](int layer, int head, const HeadPlan& of_head) {
    const std::string what = not_exported(of_head, format);
    if (what.empty()) return;
    throw UnsupportedError(
        fault(fmt::format("key-value head {}.{}", layer, head),
              fmt::format("{}, which {} can do", able(format), described(format).tool), what,
              "make a plan of windows alone"));
  });
}

std::string folder_of(const std::string& folder, PlanFormat format) {
  return (fs::path(folder) / described(format).name).string();
}

void require_family(const SourceInfo& source, PlanFormat format) {
  if (!source.causal) {
    throw UnsupportedError(fault(described(format).name, "a model that decodes token by token",
                                 source.family + ", which reads both ways",
                                 "plan the cache of a decoder"));
  }
  if (format != PlanFormat::kvpress) return;
  if (source.family != "gpt2" && source.family != "bert") return;
  throw UnsupportedError(fault("kvpress", "a model that runs as Llama does", source.family,
                               "kvpress does not know its layers"));
}

// Makes the search one of whole layers, with one size of window.
void search_by_layer(PlanOptions& options, const SourceInfo& source) {
  options.whole_layers = true;
  if (options.search == PlanSearchKind::greedy) {
    throw UsageError(
        fault("hf-layers", "the regression", "the greedy search", "leave it out, or the export"));
  }
  if (options.patterns.size() > 1) {
    throw UsageError(fault("PlanOptions::patterns", "one size of window for all layers",
                           fmt::format("{} patterns", options.patterns.size()),
                           "leave the others out, or the export"));
  }
  if (options.patterns.empty()) {
    const Index context = std::ranges::max(source.documents);
    const Index size = std::max(std::min(kLeastWindow, context / 2), context / 8);
    options.patterns = {fmt::format("window:size={}", size)};
  }
}

// Lines of one row a layer and one column a key-value head.
std::string head_table(const AttentionPlan& plan,
                       const std::function<Index(const HeadPlan&)>& value) {
  std::string text;
  plan.heads.each([&](int, int head, const HeadPlan& of_head) {
    text += std::to_string(value(of_head)) + (head + 1 < plan.heads.heads() ? "\t" : "\n");
  });
  return text;
}

class Exporter {
 public:
  Exporter(const AttentionPlan& plan, const SourceInfo& source, ExportFolder& folder)
      : plan_(plan), source_(source), folder_(folder) {}

  void duo() {
    Streaming most;
    std::set<std::pair<Index, Index>> sizes;
    Index streaming_heads = 0;
    plan_.heads.each([&](int, int, const HeadPlan& head) {
      if (!head.changes()) return;
      const Streaming of_head = *streaming(head.pattern);
      most = {std::max(most.first, of_head.first), std::max(most.last, of_head.last)};
      sizes.emplace(of_head.first, of_head.last);
      ++streaming_heads;
    });
    if (streaming_heads == 0) most = {kDuoSinks, kDuoRecent};
    if (sizes.size() > 1) say_share(most, sizes.size());
    const auto heads = static_cast<double>(plan_.heads.layers() * plan_.heads.heads());
    const Json config = {{"model_name", plan_.model.name.value_or("")},
                         {"sink_size", most.first},
                         {"recent_size", most.last},
                         {"threshold", 0.5},
                         {"sparsity", static_cast<double>(streaming_heads) / heads}};
    folder_.write("full_attention_heads.tsv",
                  head_table(plan_, [](const HeadPlan& head) { return head.changes() ? 0 : 1; }));
    folder_.write("config.json", json_text(config, 1) + "\n");
    const auto own = [&](Index Streaming::*size) {
      return head_table(plan_, [size](const HeadPlan& head) -> Index {
        return head.changes() ? (*streaming(head.pattern)).*size : -1;
      });
    };
    folder_.write("sink_sizes.tsv", own(&Streaming::first));
    folder_.write("recent_sizes.tsv", own(&Streaming::last));
    if (sizes.size() > 1) {
      folder_.done.notices.push_back(
          fmt::format("duo: streaming heads have {} sizes, and DuoAttention has one: config.json "
                      "has the largest (sinks {}, window {}); those of each head are in "
                      "sink_sizes.tsv and recent_sizes.tsv",
                      sizes.size(), most.first, most.last));
    }
  }

  void kvpress() {
    constexpr std::array kTested = {"llama", "mistral", "qwen2", "qwen3"};
    if (std::ranges::count(kTested, source_.family) == 0) {
      folder_.done.notices.push_back(fmt::format(
          "kvpress: {} is not among the families that kvpress is tested with", source_.family));
    }
    folder_.write("headgauge_press.py", press());
    folder_.write("plan.json", plan_text(plan_));
  }

 private:
  // What DuoAttention keeps of the cache with one size, `most`, for all streaming heads.
  void say_share(const Streaming& most, std::size_t sizes) {
    if (plan_.context == 0) return;
    PerHead<HeadPlan> heads = plan_.heads;
    heads.each([&](int, int, HeadPlan& head) {
      if (!head.changes()) return;
      head.pattern = fmt::format("sinks:sinks={},window={}", most.first, most.last);
    });
    const double share = cache_share(heads, source_, plan_.context);
    const double own = cache_share(plan_.heads, source_, plan_.context);
    const auto measured = plan_.measured.find("measured");
    const double allowed =
        measured != plan_.measured.end() ? value_or(*measured, "allowed_share", 1.0) : 1.0;
    if (share > allowed || share >= 1) {
      throw UnsupportedError(
          fault("duo", fmt::format("at most {:.3g} % of the cache", 100 * allowed),
                fmt::format(
                    "{:.3g} %: DuoAttention has one size for all streaming heads, the plan has {}",
                    100 * share, sizes),
                "export it as kvpress, which has a size for each head"));
    }
    folder_.done.shares.push_back(
        fmt::format("duo keeps {:.3g} % of the cache, the plan {:.3g} %", 100 * share, 100 * own));
  }

  const AttentionPlan& plan_;
  const SourceInfo& source_;
  ExportFolder& folder_;
};

}  // namespace

PlanFormat plan_format(const std::string& name, const std::string& option) {
  std::vector<std::string> names;
  for (const Format& known : kFormats) {
    if (name == known.name) return known.format;
    names.emplace_back(known.name);
  }
  throw UsageError(fault(option, "one of " + plan_format_names(),
                         in_quotes(name) + did_you_mean(name, names),
                         "name formats alone; Run::out is the folder of their files"));
}

std::string plan_format_names() {
  std::string names;
  for (const Format& known : kFormats)
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

std::string not_exported(const HeadPlan& head, PlanFormat format) {
  if (does_means(format) && head.pattern.empty() && head.normalizer == "uniform") return {};
  if (!head.normalizer.empty()) return "the normalizer " + head.normalizer;
  if (head.pattern.empty()) return {};
  const auto kept = streaming(head.pattern);
  const bool fits = kept && (format != PlanFormat::hf_layers || kept->first == 0);
  return fits ? "" : "the pattern " + head.pattern;
}

std::vector<std::string> keep_exportable(PlanOptions& options,
                                         const std::vector<PlanFormat>& formats,
                                         const SourceInfo& source) {
  for (const PlanFormat format : formats) {
    const auto require = [&](const HeadPlan& head, const char* option) {
      std::string what = not_exported(head, format);
      if (what.empty() && head.normalizer == "uniform" && !does_means(format, source)) {
        what = "running means in a model with windows of its own";
      }
      if (what.empty()) return;
      throw UsageError(fault(option, fmt::format("what {} can do", described(format).tool), what,
                             "leave it out, or the export"));
    };
    for (const std::string& pattern : options.patterns) {
      require({pattern, ""}, "PlanOptions::patterns");
    }
    for (const std::string& normalizer : options.normalizers) {
      if (normalizer != "softmax") require({"", normalizer}, "PlanOptions::normalizers");
    }
  }
  if (std::ranges::count(formats, PlanFormat::hf_layers) > 0) search_by_layer(options, source);
  if (formats.empty() || !options.normalizers.empty()) return {};
  const auto without = std::ranges::find_if_not(
      formats, [&](PlanFormat format) { return does_means(format, source); });
  if (without == formats.end()) {
    options.normalizers = {"uniform"};
    return {};
  }
  options.normalizers = {"softmax"};
  return {fmt::format("no normalizer is tried: {} has none{}", described(*without).tool,
                      does_means(*without) ? " in a model with windows of its own" : "")};
}

void require_exportable(const std::vector<PlanFormat>& formats, const SourceInfo& source,
                        const Checkpoint* checkpoint, const std::string& folder) {
  for (const PlanFormat format : formats) {
    require_family(source, format);
    if (format == PlanFormat::hf) require_served(source, checkpoint);
    if (format == PlanFormat::hf_layers) require_served_by_layer(source, checkpoint);
    if (!folder.empty()) require_own_export(folder_of(folder, format));
  }
}

PlanExport export_plan(const AttentionPlan& plan, PlanFormat format, const SourceInfo& source,
                       const std::string& folder, const Checkpoint* checkpoint,
                       const std::stop_token& stop) {
  require_exported(plan, format);
  require_exportable({format}, source, checkpoint, {});
  ExportFolder to(folder_of(folder, format), stop);
  if (format == PlanFormat::hf) export_hf(plan, source, *checkpoint, to);
  if (format == PlanFormat::hf_layers) export_layers(plan, source, *checkpoint, to);
  if (format == PlanFormat::duo) Exporter(plan, source, to).duo();
  if (format == PlanFormat::kvpress) Exporter(plan, source, to).kvpress();
  return to.commit();
}

}  // namespace headgauge
