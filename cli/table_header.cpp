#include "cli/table_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <vector>

#include "cli/progress.hpp"
#include "cli/run_lines.hpp"
#include "cli/text_table.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLabel = 12;

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    if (!text.empty()) text += ", ";
    text += part;
  }
  return text;
}

// Makes a line of parts that stand apart; parts that do not fit go on in the next.
std::string spaced(const std::vector<std::string>& parts, std::size_t width) {
  std::string text;
  std::size_t used = 0;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    const bool fits = used + 3 + text_width(part) <= width;
    text += text.empty() ? "" : fits ? "   " : "\n  ";
    used = fits ? used + 3 : 2;
    text += hanging(legible(part), width, used);
    used += text_width(part);
  }
  return text.empty() ? text : text + "\n";
}

std::string with(const std::string& before, const std::string& value,
                 const std::string& after = "") {
  return value.empty() ? "" : before + value + after;
}

// Examples: "1 layer", "2 layers".
std::string counted(Index number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

// Returns the last part of a path: the name of a file or a folder.
std::string file_name(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

// Example: "15 of 18 layers see 512 tokens, all but 5, 11, 17"; empty if heads see all keys.
std::string windows_line(const Results& results) {
  if (results.coord("window") == nullptr) return "";
  std::vector<Index> windows;
  std::vector<double> without;
  for (Index l = 0; l < results.coord_size("layer"); ++l) {
    windows.push_back(static_cast<Index>(window_of_layer(results, l)));
    if (windows.back() == 0) without.push_back(results.coord_numbers("layer")[l]);
  }
  if (without.size() == windows.size()) return "";
  constexpr std::size_t kListed = 12;
  const bool lists = !without.empty() && without.size() <= kListed;
  return windows_text(windows) +
         (lists ? fmt::format(", all but {}", fmt::join(without, ", ")) : "");
}

// Example: "SmolLM2.gguf   llama, 30 layers x 9 heads, 3 KV heads each".
std::string model_line(const Results& results, std::size_t width) {
  const ModelRecord& model = results.model;
  const bool has_heads = model.layers && model.heads;
  return spaced(
      {file_name(model.name.value_or("")),
       joined({model.family.value_or(""),
               has_heads ? counted(*model.layers, "layer") + " x " + counted(*model.heads, "head")
                         : "",
               has_heads && model.kv_heads && *model.kv_heads > 0
                   ? counted(*model.kv_heads, "KV head") + " each"
                   : "",
               windows_line(results)})},
      width);
}

// Example: "text.txt   1024 of 1822 tokens   loss 3.10 ± 0.10 nats (perplexity 22.3)   19 s".
std::string text_line(const Results& results, std::size_t width) {
  const TextRecord& text = results.text;
  std::string names, tokens;
  if (!text.names.empty()) {
    names = file_name(text.names.front());
    if (names.empty()) names = "a text";
    if (text.names.size() > 1) names += fmt::format(" and {} more", text.names.size() - 1);
  }
  if (!text.tokens.empty()) {
    Index total = 0;
    for (std::size_t i = 0; i < text.tokens_total.size(); ++i) {
      total += text.tokens_total[i].value_or(i < text.tokens.size() ? text.tokens[i] : 0);
    }
    const Index read = std::accumulate(text.tokens.begin(), text.tokens.end(), Index{0});
    tokens = total > read ? fmt::format("{} of {} tokens", read, total) : counted(read, "token");
  }
  std::string loss;
  const std::string change = intervention_dimension(results);
  const auto cell = change.empty() ? find_cell(results, metric::loss, {})
                                   : find_cell(results, metric::loss, {{change, 0}});
  if (cell) {
    loss = fmt::format("loss {:.2f}", cell->value);
    if (std::isfinite(cell->standard_error)) loss += fmt::format(" ± {:.2f}", cell->standard_error);
    loss += fmt::format(" nats (perplexity {})", rounded(std::exp(cell->value)));
  }
  const auto& total = results.timings.total;
  return spaced({names, tokens, loss, total ? readable_time(*total) : ""}, width);
}

// Returns a number of bytes with its unit, in powers of 1000.
std::string bytes_text(double bytes) {
  const char* const units[] = {"bytes", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  return fmt::format("{} {}", bytes < 10 ? rounded(bytes) : fmt::format("{:.0f}", bytes),
                     units[unit]);
}

// Example: "KV cache   23 kB a token in 16 bits, 189 MB at the trained 8192 tokens"; empty for a
// model without one, or of which not all layers are known.
std::string cache_line(const Results& results, std::size_t width) {
  const ModelRecord& model = results.model;
  const Index layers = results.coord("layer") == nullptr ? 0 : results.coord_size("layer");
  const bool is_encoder = model.family.value_or("").find("bert") != std::string::npos;
  if (!model.kv_heads || model.head_dim.value_or(0) == 0 || model.layers.value_or(-1) != layers ||
      !model.causal.value_or(true) || is_encoder) {
    return "";
  }
  const auto of_layer = static_cast<double>(4 * *model.kv_heads * *model.head_dim);
  std::string text =
      fmt::format("{} a token in 16 bits", bytes_text(static_cast<double>(layers) * of_layer));
  const auto length = model.trained_length ? model.trained_length : model.positions;
  double tokens = 0;
  for (Index l = 0; l < layers; ++l) {
    const auto window = window_of_layer(results, l), all = static_cast<double>(length.value_or(0));
    tokens += window > 0 ? std::min(window, all) : all;
  }
  if (length) {
    text += fmt::format(", {} at the trained {} tokens", bytes_text(of_layer * tokens), *length);
  }
  return spaced({"KV cache", text}, width);
}

// Returns the file of the plan that the model ran under; empty if there was none or several were
// compared.
std::string plan_name(const Json& settings) {
  const auto plan = settings.find("plan");
  if (plan == settings.end() || !plan->is_string() || *plan == "none") return "";
  return plan->get<std::string>();
}

std::string run_line(const Results& results) {
  const auto length = longest_length(results);
  // Lists are the subject of the command's own table.
  const auto one = [&](const char* key) {
    const auto given = results.settings.find(key);
    const bool several = given != results.settings.end() && given->is_array();
    return several ? "" : text_of(results.settings, key);
  };
  // What a plan was made from is no rule of the model.
  const bool of_plan = results.command == Command::plan;
  const std::string pattern = of_plan ? "none" : one("pattern");
  return joined(
      {length ? fmt::format("L = {}", *length) : "", of_plan ? "" : one("normalizer"),
       pattern == "none" ? "" : with("pattern ", pattern),
       with("plan ", plan_name(results.settings)), with("x = ", text_of(results.settings, "x")),
       results.settings.contains("synthetic")
           ? with("", text_of(results.settings, "replicates"), " replicates")
           : "",
       with("reference: ", text_of(results.settings, "reference_method")),
       with("seed ", text_of(results.settings, "seed")),
       results.tool.threads ? counted(*results.tool.threads, "thread") : "", results.tool.simd});
}

std::string labelled(const Painter& paint, const char* label, const std::string& text,
                     std::size_t width) {
  return paint.entry(Style::faint, label, shortened(text, kTableWidth - kLabel), width, kLabel);
}

// A line of values, one for each length.
struct LengthLine {
  const char* label;
  std::vector<double> values;
  bool known() const {
    return std::any_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
  }
};

// Returns the mean over all heads at each length; empty for an absent metric.
std::vector<double> means_over_heads(const Results& results, const char* name) {
  const LabelledArray* metric = results.metric(name);
  if (metric == nullptr ||
      metric->dim_names() != std::vector<std::string>{"layer", "head", "length"}) {
    return {};
  }
  std::vector<double> means;
  for (Index l = 0; l < results.coord_size("length"); ++l) {
    double sum = 0, count = 0;
    for (const double value : metric->isel("length", l).values) {
      if (!std::isfinite(value)) continue;
      sum += value;
      count += 1;
    }
    means.push_back(sum / count);
  }
  return means;
}

// Returns lines of values per length: the loss, and the cost of a pattern.
std::string length_lines(const Results& results, const Painter& paint, std::size_t width) {
  std::vector<LengthLine> lines;
  const LabelledArray* loss = results.metric(metric::loss);
  if (loss != nullptr && loss->dim_names() == std::vector<std::string>{kOutcome, "length"} &&
      loss->dim(kOutcome).find(kText)) {
    const LabelledArray by_length = loss->sel(kOutcome, kText);
    lines.push_back({"loss, nats", by_length.values});
    lines.push_back({"perplexity", by_length.values});
    for (double& value : lines.back().values) value = std::exp(value);
  }
  lines.push_back({"kept mass", means_over_heads(results, metric::kept_mass)});
  lines.push_back({"out change", means_over_heads(results, metric::output_change)});
  std::erase_if(lines, [](const LengthLine& line) { return !line.known(); });
  if (lines.empty()) return "";
  const auto lengths = results.coord_numbers("length");
  // Drops the shortest lengths if there are too many.
  std::vector<TextColumn> columns = {left_column("", kLabel - 2)};
  for (int rank = static_cast<int>(lengths.size()) - 1; rank >= 0; --rank) {
    columns.push_back({"", 7, "", rank});
  }
  TextTable table(paint, columns);
  const auto add = [&](const char* label, std::span<const double> values, const auto& shown) {
    std::vector<TextCell> row = {{label, Style::faint}};
    for (const double value : values) row.emplace_back(shown(value));
    table.row(std::move(row));
  };
  add("length", lengths, [](double value) { return fmt::format("{:.0f}", value); });
  for (const LengthLine& of : lines) add(of.label, of.values, rounded);
  table.fit(width);
  return table.text();
}

}  // namespace

std::string windows_text(const std::vector<Index>& windows) {
  const auto sliding = std::ranges::count_if(windows, [](Index window) { return window > 0; });
  return fmt::format("{} of {} layers see {} tokens", sliding, windows.size(),
                     std::ranges::max(windows));
}

std::string open_mark(const Results& results, Index layer_index) {
  if (window_of_layer(results, layer_index) > 0) return "";
  return open_legend(results).empty() ? "" : "*";
}

std::string open_legend(const Results& results) {
  if (results.coord("window") == nullptr) return "";
  const auto windows = results.coord_numbers("window");
  const bool mixed = std::ranges::max(windows) > 0 && std::ranges::min(windows) == 0;
  return mixed ? "* sees all keys" : "";
}

std::string render_head(const Results& results, std::size_t width) {
  return model_line(results, width) + text_line(results, width) + cache_line(results, width);
}

std::string render_header(const Results& results, const Painter& paint, std::size_t width) {
  std::string out = render_head(results, width) + labelled(paint, "run", run_line(results), width);
  if (results.partial) {
    out += labelled(
        paint, "partial",
        fmt::format("interrupted; {} measured",
                    results.layers_done == 1 ? "1 layer was"
                                             : fmt::format("{} layers were", results.layers_done)),
        width);
  }
  const std::string lengths = length_lines(results, paint, width);
  if (!lengths.empty()) out += "\n" + lengths;
  return out.empty() ? out : out + "\n";
}

}  // namespace headgauge::cli
