#include "measures/critical_temperature.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headgauge {
namespace {

constexpr double kBinRounding = 1e-4;  // of a bin's width, by which float32 may miss its bin

}  // namespace

double CriticalTemperature::find(std::span<const float> logits, float least, float most) {
  if (logits.size() < 2) return kUndefined;
  if (least == most) return 0;
  while (factors_.size() <= logits.size()) {
    factors_.push_back(1 / std::log(static_cast<double>(factors_.size())));
  }
  place(logits, most, least);
  choose();
  gaps_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!chosen_[bins_[i]]) continue;
    gaps_.push_back({static_cast<double>(most) - logits[i], bins_[i]});
  }
  std::ranges::sort(gaps_, {}, &Gap::gap);
  double lowest = std::numeric_limits<double>::infinity();
  Index k = 0;
  int bin = -1;
  for (const Gap& gap : gaps_) {
    if (gap.bin != bin) k = before_[gap.bin];
    bin = gap.bin;
    ++k;
    if (k >= 2) lowest = std::min(lowest, gap.gap * factors_[k]);
  }
  return lowest;
}

// Larger gaps never have lower bins: differences, products and conversions keep the order.
void CriticalTemperature::place(std::span<const float> logits, float most, float least) {
  const double range = static_cast<double>(most) - least;
  const auto scale = static_cast<float>((kBins - 1) / range);
  bins_.resize(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float bin = std::min((most - logits[i]) * scale, static_cast<float>(kBins - 1));
    bins_[i] = static_cast<std::uint8_t>(static_cast<int>(bin));
  }
  // Neighbouring keys often share a bin: counting them in turn in several tables does not wait.
  constexpr std::size_t kTables = 4;
  std::array<std::array<std::uint32_t, kBins>, kTables> counts{};
  for (std::size_t i = 0; i < bins_.size(); ++i) ++counts[i % kTables][bins_[i]];
  before_[0] = 0;
  for (int bin = 0; bin < kBins; ++bin) {
    Index keys = 0;
    for (const auto& table : counts) keys += table[bin];
    before_[bin + 1] = before_[bin] + keys;
  }
}

// In units of a bin's width, a key of bin b has gap / log k from b / log(keys up to its end) on,
// and the last key of the bin at most (b + 1) / log of its k.
void CriticalTemperature::choose() {
  double most = std::numeric_limits<double>::infinity();
  for (int bin = 0; bin < kBins; ++bin) {
    const Index keys = before_[bin + 1];
    if (keys < 2 || keys == before_[bin]) continue;
    most = std::min(most, (bin + 1 + kBinRounding) * factors_[keys]);
  }
  for (int bin = 0; bin < kBins; ++bin) {
    const Index keys = before_[bin + 1];
    chosen_[bin] =
        keys > before_[bin] && keys >= 2 && (bin - kBinRounding) * factors_[keys] <= most;
  }
}

}  // namespace headgauge
