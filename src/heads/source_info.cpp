#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "headgauge/array.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/text.hpp"

namespace headgauge {

std::vector<std::uint32_t> first_equal_rows(MatrixView<const float> rows) {
  std::unordered_map<std::string_view, std::uint32_t> first;
  std::vector<std::uint32_t> row_of;
  for (Index r = 0; r < rows.rows(); ++r) {
    const auto bytes = std::as_bytes(std::span(rows.row(r)));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    row_of.push_back(first.emplace(text, static_cast<std::uint32_t>(r)).first->second);
  }
  return row_of;
}

bool SourceInfo::has_attention(int layer) const {
  return !std::ranges::binary_search(without_attention, layer);
}

bool SourceInfo::is_text(Index document) const {
  return answers.empty() || answers[document].tokens == 0;
}

bool SourceInfo::has_text() const {
  return answers.empty()
             ? !documents.empty()
             : std::ranges::any_of(answers, [](const auto& answer) { return answer.tokens == 0; });
}

bool SourceInfo::is_control(Index document) const {
  return !answers.empty() && answers[document].control_of >= 0;
}

bool SourceInfo::is_measured(Index document) const {
  return is_text(document) || (!has_text() && !is_control(document));
}

std::vector<Index> SourceInfo::measured_lengths() const {
  std::vector<Index> lengths = documents;
  for (Index d = 0; d < std::ssize(lengths); ++d) {
    if (!is_measured(d)) lengths[d] = 0;
  }
  return lengths;
}

Index SourceInfo::predicted(Index document) const {
  return is_text(document) ? documents[document] - 1 : answers[document].tokens;
}

std::vector<int> SourceInfo::attention_layers() const {
  std::vector<int> found;
  for (int layer = 0; layer < layers; ++layer) {
    if (has_attention(layer)) found.push_back(layer);
  }
  return found;
}

Index SourceInfo::attention_layers_before(int layer) const {
  const auto& none = without_attention;
  return layer - (std::ranges::lower_bound(none, layer) - none.begin());
}

std::string SourceInfo::layers_without_window(Index length) const {
  std::vector<int> without;
  for (const int layer : attention_layers()) {
    const auto place = static_cast<std::size_t>(layer);
    const Index window = place < windows.size() ? windows[place] : 0;
    if (window == 0 || window >= length) without.push_back(layer);
  }
  const bool all = without.size() == attention_layers().size();
  return all ? "" : fmt::format("{}", fmt::join(without, ","));
}

std::string kept_windows_notice(const SourceInfo& source, const std::string& layers,
                                const char* option) {
  return fmt::format(
      "layers with a window of the model's own keep their attention, and the others ({}) are "
      "changed; {} = 0-{} changes all",
      layers, option, source.layers - 1);
}

std::string without_attention_notice(const SourceInfo& source) {
  const auto& none = source.without_attention;
  if (none.empty()) return "";
  return fmt::format(
      "{} {} of {} {} no attention and {} left out", none.size() == 1 ? "layer" : "layers",
      labels_text(std::vector<double>(none.begin(), none.end()), none.size()), source.layers,
      none.size() == 1 ? "has" : "have", none.size() == 1 ? "is" : "are");
}

}  // namespace headgauge
