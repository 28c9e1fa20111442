// Compares two models on several texts, each text by itself.
#include "headgauge/diff.hpp"
#include "results/texts_apart.hpp"

namespace headgauge {

Results diff(std::span<const Results> before, std::span<const Results> after,
             const DiffOptions& options) {
  if (before.size() == 1 && after.size() == 1) return diff(before[0], after[0], options);
  const std::vector<Results> old = in_order_of_texts(before, before, options.old_file);
  const std::vector<Results> current = in_order_of_texts(after, before, options.new_file);
  std::vector<Results> pairs;
  for (std::size_t i = 0; i < old.size(); ++i) {
    pairs.push_back(diff(old[i], current[i], options));
  }
  Results mean = mean_over_texts(pairs);
  mean.settings["pairs"] = pairs.size();
  for (const Results& pair : std::span(pairs).subspan(1)) {
    for (const char* side : {"old", "new"}) {
      auto& texts = mean.settings[side]["text"];
      for (const auto& text : pair.settings[side]["text"]) texts.push_back(text);
    }
  }
  return mean;
}

}  // namespace headgauge
