#include "statistics/sign_flips.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/random.hpp"
#include "headgauge/ranks.hpp"

namespace headgauge {
namespace {

// Sums of ranks count as equal if they differ by no more than this, which is due to rounding.
constexpr double kRounding = 1e-9;

// Draws +1 or -1 for every unit.
void draw_signs(const SignFlipOptions& options, std::uint32_t flip, std::span<double> signs) {
  constexpr std::size_t kBits = 128;  // in one block
  const RandomStream random(options.seed, RandomDomain::sign_flips, options.stream, flip);
  std::array<std::uint32_t, 4> words{};
  for (std::size_t unit = 0; unit < signs.size(); ++unit) {
    const std::size_t bit = unit % kBits;
    if (bit == 0) words = random.block(static_cast<std::uint32_t>(unit / kBits));
    signs[unit] = (words[bit / 32] >> (bit % 32) & 1) != 0 ? -1.0 : 1.0;
  }
}

// Signed ranks of the distances from the null, positive on the side that counts against it. Each
// column is divided by the root of its sum of squares. 0 if a value is missing or equals the null.
class RankedColumns {
 public:
  RankedColumns(MatrixView<const double> values, double null, Tail tail)
      : scaled_(values.rows(), values.cols()),
        count_(values.cols()),
        square_(values.cols()),
        sums_(values.cols()) {
    const double side = tail == Tail::above ? 1.0 : -1.0;
    std::vector<Index> units;
    std::vector<double> distances, sizes;
    for (Index test = 0; test < values.cols(); ++test) {
      units.clear();
      distances.clear();
      sizes.clear();
      for (Index unit = 0; unit < values.rows(); ++unit) {
        const double distance = side * (values(unit, test) - null);
        if (!std::isfinite(distance)) continue;
        ++count_[test];
        if (distance == 0) continue;
        units.push_back(unit);
        distances.push_back(distance);
        sizes.push_back(std::abs(distance));
      }
      const std::vector<double> midranks = ranks(sizes);
      for (const double rank : midranks) square_[test] += rank * rank;
      for (std::size_t i = 0; i < units.size(); ++i) {
        scaled_(units[i], test) =
            std::copysign(midranks[i], distances[i]) / std::sqrt(square_[test]);
      }
    }
  }
  bool has_test(Index test) const { return count_[test] >= 2; }
  bool has_spread(Index test) const { return square_[test] > 0; }

  // Computes the statistic of every column under these signs; valid until the next call.
  std::span<const double> statistics(std::span<const double> signs) {
    std::ranges::fill(sums_, 0.0);
    for (Index unit = 0; unit < scaled_.rows(); ++unit) {
      const double sign = signs[unit];
      const double* row = scaled_.row(unit).data();
      for (std::size_t test = 0; test < sums_.size(); ++test) sums_[test] += sign * row[test];
    }
    return sums_;
  }

 private:
  Matrix<double> scaled_;
  std::vector<int> count_;
  std::vector<double> square_, sums_;
};

}  // namespace

std::vector<double> sign_flip_tests(MatrixView<const double> values, double null, Tail tail,
                                    const SignFlipOptions& options) {
  if (tail == Tail::both) {
    throw UsageError(fault("a test by sign flips", "Tail::above or Tail::below", "both", ""));
  }
  const Index tests = values.cols();
  std::vector<double> p(tests, kUndefined);
  if (values.rows() < 2 || tests == 0) return p;
  RankedColumns columns(values, null, tail);
  std::vector<double> signs(values.rows(), 1.0);
  const auto own = columns.statistics(signs);
  const std::vector<double> found(own.begin(), own.end());
  std::vector<int> reached(tests, 1);  // the observed signs are the first draw
  for (int flip = 0; flip < options.flips; ++flip) {
    draw_signs(options, static_cast<std::uint32_t>(flip), signs);
    const double largest = std::ranges::max(columns.statistics(signs));
    for (Index test = 0; test < tests; ++test) {
      reached[test] += largest >= found[test] - kRounding ? 1 : 0;
    }
  }
  for (Index test = 0; test < tests; ++test) {
    if (!columns.has_test(test)) continue;
    p[test] =
        columns.has_spread(test) ? static_cast<double>(reached[test]) / (options.flips + 1) : 1.0;
  }
  return p;
}

}  // namespace headgauge
