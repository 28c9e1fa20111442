#include "measures/locality.hpp"

#include <cmath>

namespace headgauge {
namespace {

constexpr Index kNear = 16;

class LocalityMeasure final : public Measure {
 public:
  void declare(MetricRegistry& metrics) override {
    near_weight_ = metrics.add("near_weight");
    relative_position_ = metrics.add("relative_position");
  }
  MeasureNeeds needs() const override { return {.weights = true}; }

  void observe(const RowBlock& block, int, RowSink& sink) override {
    for (Index r = 0; r < block.size(); ++r) {
      const Row& row = block.rows[r];
      if (row.sums.abs_mass == 0) continue;  // no distribution over keys
      double near = 0, position = 0;
      for (Index i = 0; i < row.n(); ++i) {
        const double weight = std::abs(static_cast<double>(row.weights[i]));
        if (std::abs(row.query - row.key(i)) < kNear) near += weight;
        position += weight * static_cast<double>(row.key(i) + 1);
      }
      sink.set(r, near_weight_, near / row.sums.abs_mass);
      sink.set(r, relative_position_,
               position / (row.sums.abs_mass * static_cast<double>(row.query + 1)));
    }
  }

 private:
  MetricHandle near_weight_, relative_position_;
};

}  // namespace

std::unique_ptr<Measure> make_locality_measure() {
  return std::make_unique<LocalityMeasure>();
}

}  // namespace headgauge
