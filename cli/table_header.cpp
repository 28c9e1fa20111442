#include "cli/table_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "results/longest.hpp"

namespace headgauge::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWidth = 100;
constexpr std::size_t kLabel = 12;

// The parts of a results file that nothing guarantees: an absent one reads as nothing.
std::string text_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || it->is_null()) return "";
  return it->is_string() ? it->get<std::string>()
                         : it->dump(-1, ' ', false, Json::error_handler_t::replace);
}

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

std::string model_line(const Json& model) {
  const std::string layers = text_of(model, "layers");
  const std::string heads = text_of(model, "heads");
  return joined({text_of(model, "name"), text_of(model, "family"),
                 layers.empty() || heads.empty() ? "" : layers + " layers of " + heads + " heads",
                 with("head size ", text_of(model, "head_dim"))});
}

// "war_and_peace.txt (1154 tokens)", and how many more.
std::string text_line(const Json& text) {
  const auto names = text.find("names");
  const auto tokens = text.find("tokens");
  if (names == text.end() || !names->is_array() || names->empty()) return "";
  const auto name = [&](std::size_t i) {
    const Json& item = (*names)[i];
    std::string shown =
        item.is_string() ? std::filesystem::path(item.get<std::string>()).filename().string() : "";
    if (shown.empty()) shown = "a text";
    const bool counted = tokens != text.end() && tokens->is_array() && i < tokens->size();
    return counted ? shown + " (" + (*tokens)[i].dump() + " tokens)" : shown;
  };
  constexpr std::size_t kShown = 2;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(kShown, names->size()); ++i) parts.push_back(name(i));
  if (names->size() > kShown) parts.push_back(fmt::format("and {} more", names->size() - kShown));
  return joined(parts);
}

std::string run_line(const Results& results) {
  const auto length = longest_length(results);
  const auto total = results.timings.find("total_s");
  const bool timed = total != results.timings.end() && total->is_number();
  return joined(
      {length ? fmt::format("L = {}", *length) : "", text_of(results.settings, "normalizer"),
       with("x = ", text_of(results.settings, "x")),
       with("seed ", text_of(results.settings, "seed")),
       timed ? rounded(total->get<double>()) + " s" : "",
       with("", text_of(results.tool, "threads"), " threads"), text_of(results.tool, "simd")});
}

std::string labelled(const Painter& paint, const char* label, const std::string& text) {
  if (text.empty()) return "";
  return paint.left(Style::faint, label, kLabel) + shortened(text, kWidth - kLabel) + "\n";
}

std::string loss_lines(const Results& results, const Painter& paint) {
  const MetricArray* loss = results.metric("loss");
  if (loss == nullptr || loss->dims != std::vector<std::string>{"length"}) return "";
  if (std::none_of(loss->values.begin(), loss->values.end(),
                   [](double v) { return std::isfinite(v); })) {
    return "";
  }
  const auto lengths = results.coord_numbers("length");
  constexpr std::size_t kCell = 8;
  constexpr std::size_t kMost = (kWidth - kLabel) / kCell;
  // The longest ones, where there are more than fit.
  const std::size_t first = lengths.size() > kMost ? lengths.size() - kMost : 0;
  const auto line = [&](const char* label, const auto& value_at) {
    std::string text = paint.left(Style::faint, label, kLabel - 2);
    for (std::size_t i = first; i < lengths.size(); ++i) {
      text += paint.right(Style::plain, value_at(i), kCell);
    }
    return text + "\n";
  };
  return line("length", [&](std::size_t i) { return fmt::format("{:.0f}", lengths[i]); }) +
         line("loss, nats", [&](std::size_t i) { return rounded(loss->values[i]); }) +
         line("perplexity", [&](std::size_t i) { return rounded(std::exp(loss->values[i])); });
}

}  // namespace

std::string render_header(const Results& results, const Painter& paint) {
  std::string out = labelled(paint, "model", model_line(results.model)) +
                    labelled(paint, "text", text_line(results.text)) +
                    labelled(paint, "run", run_line(results));
  if (results.partial) {
    out += labelled(paint, "partial",
                    fmt::format("interrupted; {} layers were measured", results.layers_done));
  }
  const std::string loss = loss_lines(results, paint);
  if (!loss.empty()) out += "\n" + loss;
  return out.empty() ? out : out + "\n";
}

}  // namespace headgauge::cli
