// HeadSelection: the patterns of --layers and --heads.
#include <algorithm>
#include <charconv>

#include "headgauge/array.hpp"
#include "headgauge/results.hpp"

namespace headgauge {
namespace {

std::vector<std::string_view> split(std::string_view list, char separator) {
  std::vector<std::string_view> parts;
  while (!list.empty()) {
    const std::size_t at = list.find(separator);
    parts.push_back(list.substr(0, at));
    if (at == std::string_view::npos) break;
    list.remove_prefix(at + 1);
    if (list.empty()) parts.emplace_back();
  }
  return parts;
}

int parse_number(std::string_view text, std::string_view option, std::string_view pattern) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) {
    throw UsageError(fault(option, "numbers such as 0-3,5 (layers) or 3.5,7.* (layer.head)",
                           "\"" + std::string(pattern) + "\"", "correct the pattern"));
  }
  return value;
}

struct Range {
  int first, last;
};

Range parse_range(std::string_view text, int count, std::string_view option,
                  std::string_view pattern) {
  if (text == "*") return {0, count - 1};
  const std::size_t dash = text.find('-');
  const int first = parse_number(text.substr(0, dash), option, pattern);
  const int last =
      dash == std::string_view::npos ? first : parse_number(text.substr(dash + 1), option, pattern);
  if (last < first || last >= count) {
    throw UsageError(fault(option, "numbers from 0 to " + std::to_string(count - 1),
                           "\"" + std::string(text) + "\" in \"" + std::string(pattern) + "\"",
                           "`headgauge inspect` shows the model's layers and heads"));
  }
  return {first, last};
}

// The layers that have heads.
class Layers {
 public:
  Layers(int count, std::span<const int> without) : has_heads_(static_cast<std::size_t>(count)) {
    for (std::size_t l = 0; l < has_heads_.size(); ++l) {
      has_heads_[l] = std::ranges::find(without, static_cast<int>(l)) == without.end();
    }
  }
  bool has_heads(std::size_t layer) const { return has_heads_[layer]; }
  // Parses a part of the list `pattern`; it must include a layer with heads.
  Range range(std::string_view part, std::string_view option, std::string_view pattern) const {
    const Range range = parse_range(part, static_cast<int>(has_heads_.size()), option, pattern);
    const auto first = has_heads_.begin() + range.first;
    const auto end = has_heads_.begin() + range.last + 1;
    if (std::find(first, end, true) != end) return range;
    std::vector<double> with;
    for (std::size_t l = 0; l < has_heads_.size(); ++l) {
      if (has_heads_[l]) with.push_back(static_cast<double>(l));
    }
    throw UsageError(fault(option, "layers with attention (" + labels_text(with, with.size()) + ")",
                           "\"" + std::string(part) + "\", which has none", "name one of these"));
  }

 private:
  std::vector<bool> has_heads_;
};

}  // namespace

HeadSelection::HeadSelection(std::string_view layers, std::string_view heads, int layer_count,
                             int head_count, const std::string& options,
                             std::span<const int> without) {
  if (layers.empty() && heads.empty() && without.empty()) return;
  const Layers known(layer_count, without);
  const auto l_count = static_cast<std::size_t>(layer_count);
  const auto h_count = static_cast<std::size_t>(head_count);
  const std::string of_layers = options + "::layers", of_heads = options + "::heads";
  std::vector<bool> layer_chosen(l_count, layers.empty());
  for (std::string_view part : split(layers, ',')) {
    const Range range = known.range(part, of_layers, layers);
    for (int l = range.first; l <= range.last; ++l)
      layer_chosen[static_cast<std::size_t>(l)] = true;
  }
  chosen_.assign(l_count, std::vector<bool>(h_count, heads.empty()));
  for (std::string_view part : split(heads, ',')) {
    const std::size_t dot = part.find('.');
    if (dot == std::string_view::npos) {
      throw UsageError(fault(of_heads, "layer.head such as 3.5 or 7.*",
                             "\"" + std::string(part) + "\"", "write layer and head"));
    }
    const Range l_range = known.range(part.substr(0, dot), of_heads, heads);
    const Range h_range = parse_range(part.substr(dot + 1), head_count, of_heads, heads);
    for (int l = l_range.first; l <= l_range.last; ++l) {
      for (int h = h_range.first; h <= h_range.last; ++h) {
        chosen_[static_cast<std::size_t>(l)][static_cast<std::size_t>(h)] = true;
      }
    }
  }
  bool any = false;
  for (std::size_t l = 0; l < l_count; ++l) {
    for (std::size_t h = 0; h < h_count; ++h) {
      chosen_[l][h] = chosen_[l][h] && layer_chosen[l] && known.has_heads(l);
      any = any || chosen_[l][h];
    }
  }
  if (!any) {
    throw UsageError(fault(of_layers + " and " + of_heads, "patterns that share a head",
                           "none in common", "widen one of them"));
  }
}

bool HeadSelection::layer(int layer) const {
  if (chosen_.empty()) return true;
  for (bool head : chosen_[static_cast<std::size_t>(layer)]) {
    if (head) return true;
  }
  return false;
}

bool HeadSelection::contains(int layer, int head) const {
  return chosen_.empty() ||
         chosen_[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)];
}

}  // namespace headgauge
