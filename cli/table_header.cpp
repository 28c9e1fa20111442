#include "cli/table_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "cli/run_lines.hpp"
#include "cli/text_table.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"

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

std::string with(const std::string& before, const std::string& value,
                 const std::string& after = "") {
  return value.empty() ? "" : before + value + after;
}

// Examples: "1 layer", "2 layers".
std::string counted(Index number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string model_line(const ModelRecord& model) {
  const bool has_size = model.head_dim.value_or(0) != 0;  // 0 if there are only scores
  return joined({model.name.value_or(""), model.family.value_or(""),
                 model.layers && model.heads
                     ? counted(*model.layers, "layer") + " of " + counted(*model.heads, "head")
                     : "",
                 has_size ? fmt::format("head size {}", *model.head_dim) : ""});
}

// Example: "512 keys in 15 of 18 layers, all but 5, 11, 17"; empty if heads see all keys.
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

// Example: "war_and_peace.txt (1154 tokens)", and the number of further texts.
std::string text_line(const TextRecord& text) {
  const auto name = [&](std::size_t i) {
    std::string shown = std::filesystem::path(text.names[i]).filename().string();
    if (shown.empty()) shown = "a text";
    return i < text.tokens.size() ? shown + " (" + counted(text.tokens[i], "token") + ")" : shown;
  };
  constexpr std::size_t kNamesShown = 2;
  const std::size_t names = text.names.size();
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(kNamesShown, names); ++i) parts.push_back(name(i));
  if (names > kNamesShown) parts.push_back(fmt::format("and {} more", names - kNamesShown));
  return joined(parts);
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
  const auto& total = results.timings.total;
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
       with("seed ", text_of(results.settings, "seed")), total ? rounded(*total) + " s" : "",
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
  return fmt::format("{} keys in {} of {} layers", std::ranges::max(windows), sliding,
                     windows.size());
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

std::string render_header(const Results& results, const Painter& paint, std::size_t width) {
  std::string out = labelled(paint, "model", model_line(results.model), width) +
                    labelled(paint, "windows", windows_line(results), width) +
                    labelled(paint, "text", text_line(results.text), width) +
                    labelled(paint, "run", run_line(results), width);
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
