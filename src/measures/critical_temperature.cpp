#include "measures/critical_temperature.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headgauge {
namespace {

constexpr double kBinRounding = 1e-5;  // of a bin's width, in which float32 may miss its bin

}  // namespace

double CriticalTemperature::find(std::span<const float> logits) {
  float largest = -std::numeric_limits<float>::infinity(), smallest = -largest;
  for (const float l : logits) {
    largest = std::max(largest, l);
    smallest = std::min(smallest, std::isfinite(l) ? l : smallest);
  }
  while (std::ssize(factors_) <= std::ssize(logits)) {
    factors_.push_back(1 / std::log(static_cast<double>(factors_.size())));
  }
  if (!std::isfinite(largest)) return kUndefined;
  const double range = static_cast<double>(largest) - smallest;
  scale_ = range > 0 ? (kBins - 1) / range : 0;
  if (count(logits, largest) < 2) return kUndefined;
  if (range == 0) return 0;
  choose();
  gaps_.clear();
  for (const float l : logits) {
    if (!std::isfinite(l)) continue;
    const double gap = static_cast<double>(largest) - l;
    const int bin = static_cast<int>(gap * scale_);
    if (chosen_[bin]) gaps_.push_back({gap, bin});
  }
  std::ranges::sort(gaps_, {}, &Gap::gap);
  double least = std::numeric_limits<double>::infinity();
  Index k = 0;
  int bin = -1;
  for (const Gap& gap : gaps_) {
    if (gap.bin != bin) k = before_[gap.bin];
    bin = gap.bin;
    ++k;
    if (k >= 2) least = std::min(least, gap.gap * factors_[k]);
  }
  return least;
}

Index CriticalTemperature::count(std::span<const float> logits, float largest) {
  before_.assign(kBins + 1, 0);
  for (const float l : logits) {
    if (std::isfinite(l))
      ++before_[static_cast<int>((static_cast<double>(largest) - l) * scale_) + 1];
  }
  for (int bin = 0; bin < kBins; ++bin) before_[bin + 1] += before_[bin];
  return before_[kBins];
}

// A key of bin b has gap / log k from b / scale / log(keys up to its end) on, and the last key of
// the bin at most (b + 1) / scale / log of its k.
void CriticalTemperature::choose() {
  chosen_.assign(kBins, false);
  double most = std::numeric_limits<double>::infinity();
  for (int bin = 0; bin < kBins; ++bin) {
    const Index keys = before_[bin + 1];
    if (keys < 2 || keys == before_[bin]) continue;
    most = std::min(most, (bin + 1 + kBinRounding) * factors_[keys]);
  }
  for (int bin = 0; bin < kBins; ++bin) {
    const Index keys = before_[bin + 1];
    if (keys == before_[bin]) continue;
    chosen_[bin] = keys < 2 || (bin - kBinRounding) * factors_[keys] <= most;
  }
}

}  // namespace headgauge
