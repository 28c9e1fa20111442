#include "cli/table_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "cli/progress.hpp"
#include "cli/run_lines.hpp"
#include "cli/table_style.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/memory.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

// Makes a line of parts that stand apart; parts that do not fit go on in the next.
std::string spaced(const std::vector<std::string>& parts, std::size_t width) {
  std::string text;
  std::size_t used = 0;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    const std::size_t gap = text.empty() ? 0 : 3;
    const bool fits = used + gap + text_width(part) <= width;
    text += fits || gap == 0 ? std::string(gap, ' ') : "\n  ";
    used = fits ? used + gap : gap == 0 ? 0 : 2;
    text += hanging(legible(part), width, used);
    used += text_width(part);
  }
  return text.empty() ? text : text + "\n";
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
  std::string sizes = model.family.value_or("");
  if (model.layers && model.heads) {
    sizes += fmt::format("{}{} x {}", sizes.empty() ? "" : ", ", counted(*model.layers, "layer"),
                         counted(*model.heads, "head"));
    if (model.kv_heads.value_or(0) > 0) {
      sizes += fmt::format(", {} each", counted(*model.kv_heads, "KV head"));
    }
  }
  return spaced({file_name(model.name.value_or("")), sizes, windows_line(results)}, width);
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
  return spaced({names, tokens, loss,
                 !total         ? ""
                 : *total < 600 ? fmt::format("{:.0f} s", *total)
                                : readable_time(*total)},
                width);
}

// Example: "KV cache   23 kB a token in 16 bits, 189 MB at the trained 8192 tokens"; empty for a
// model without one, or of which not all layers are known.
std::string cache_line(const Results& results, std::size_t width) {
  const ModelRecord& model = results.model;
  const Index layers = results.coord("layer") == nullptr ? 0 : results.coord_size("layer");
  if (!model.kv_heads || model.head_dim.value_or(0) == 0 || model.layers.value_or(-1) != layers ||
      !model.causal.value_or(true)) {
    return "";
  }
  const Index of_layer = 4 * Index{*model.kv_heads} * *model.head_dim;
  const auto bytes = [&](double tokens) {
    return format_bytes(static_cast<std::size_t>(tokens * static_cast<double>(of_layer)));
  };
  std::string text = bytes(static_cast<double>(layers)) + " a token in 16 bits";
  const auto length = model.trained_length ? model.trained_length : model.positions;
  double tokens = 0;
  for (Index l = 0; l < layers; ++l) {
    const auto window = window_of_layer(results, l), all = static_cast<double>(length.value_or(0));
    tokens += window > 0 ? std::min(window, all) : all;
  }
  if (length) {
    text += fmt::format(", {} at the trained {} tokens", bytes(tokens), *length);
  }
  return spaced({"KV cache", text}, width);
}

// Says what a scan changed, and that the measures alone saw it; empty for the model as it is.
// Lists are the subject of the command's own table.
std::string change_line(const Results& results, std::size_t width) {
  std::vector<std::string> parts;
  for (const auto& [key, usual] :
       {std::pair{"normalizer", "softmax"}, {"pattern", "none"}, {"plan", "none"}}) {
    const auto given = results.settings.find(key);
    if (given == results.settings.end() || !given->is_string() || *given == usual) continue;
    parts.push_back(fmt::format("{} {}", key, given->get<std::string>()));
  }
  if (parts.empty() || results.command == Command::plan) return "";
  return spaced({"measured with", fmt::format("{}", fmt::join(parts, ", "))}, width);
}

}  // namespace

std::string windows_text(const std::vector<Index>& windows) {
  const auto sliding = std::ranges::count_if(windows, [](Index window) { return window > 0; });
  return fmt::format("{} of {} layers see {} tokens", sliding, windows.size(),
                     std::ranges::max(windows));
}

std::string render_head(const Results& results, std::size_t width) {
  const std::string partial =
      results.partial ? "interrupted   " + counted(results.layers_done, "layer") + " measured\n"
                      : "";
  return model_line(results, width) + text_line(results, width) + cache_line(results, width) +
         change_line(results, width) + partial;
}

}  // namespace headgauge::cli
