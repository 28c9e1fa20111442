#include "results/head_labels.hpp"

#include <algorithm>

#include "results/overlap.hpp"

namespace headgauge {
namespace {

// More than any model has: a selection is a table of all of them.
constexpr int kMost = 4096;

int count(const Results& results, const char* coord) {
  int most = 0;
  for (Index i = 0; i < results.coord_size(coord); ++i) {
    most = std::max(most, head_label(results, coord, i) + 1);
  }
  return most;
}

bool names_a_head(const Results& results, const HeadSelection& selection) {
  for (Index i = 0; i < results.coord_size("layer"); ++i) {
    for (Index j = 0; j < results.coord_size("head"); ++j) {
      const int layer = head_label(results, "layer", i), head = head_label(results, "head", j);
      if (layer >= 0 && head >= 0 && selection.contains(layer, head)) return true;
    }
  }
  return false;
}

}  // namespace

int head_label(const Results& results, const char* coord, Index place) {
  const double label = results.coord_numbers(coord)[static_cast<std::size_t>(place)];
  if (!(label >= 0 && label < kMost) || label != static_cast<int>(label)) return -1;
  return static_cast<int>(label);
}

HeadSelection select_heads(const Results& results, const std::string& pattern) {
  const int layers = count(results, "layer"), heads = count(results, "head");
  HeadSelection all("", pattern, layers, heads);
  std::string_view rest = pattern;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    if (names_a_head(results, HeadSelection("", part, layers, heads))) continue;
    throw UsageError(fault("DiffOptions::heads", "heads of both files", "\"" + std::string(part) + "\"",
                           "both have the layers " + labels_text(*results.coord("layer")) +
                               " and the heads " + labels_text(*results.coord("head"))));
  }
  return all;
}

}  // namespace headgauge
