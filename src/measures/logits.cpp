#include "measures/logits.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "headgauge/metric_names.hpp"
#include "headgauge/results.hpp"
#include "measures/coordinates.hpp"
#include "results/declared.hpp"

namespace headgauge {
namespace {

constexpr double kLeast = -std::numeric_limits<double>::infinity();

class LogitsMeasure final : public Measure {
 public:
  explicit LogitsMeasure(int slots) : of_slot_(slots, kLeast) {}

  void declare(MetricRegistry& metrics) override {
    max_ = metrics.add(metric::max_logit);
    mean_ = metrics.add(metric::mean_logit);
    log_sum_exp_ = metrics.add(metric::log_sum_exp);
    metrics.add(metric::largest_logit);
  }

  MeasureNeeds needs() const override { return {}; }

  void begin_head(const HeadInput&, ThreadPool&) override { std::ranges::fill(of_slot_, kLeast); }

  void observe(const RowBlock& block, int slot, RowSink& sink) override {
    for (Index r = 0; r < block.size(); ++r) {
      const Row& row = block.rows[r];
      const double sum = std::accumulate(row.logits.begin(), row.logits.end(), 0.0);
      sink.set(r, max_, row.sums.max_logit);
      sink.set(r, mean_, sum / static_cast<double>(row.n()));
      // Only then does the normalizer take the exponentials of these logits.
      if (block.normalizer->softmax_scale({row.n(), row.query}) == 1.0) {
        sink.set(r, log_sum_exp_, row.sums.log_sum_exp);
      }
      of_slot_[slot] = std::max(of_slot_[slot], row.sums.max_logit);
    }
  }

  void end_head(const HeadInput& head, const HeadMeans&) override {
    heads_.push_back(head.head);
    largest_.push_back(std::ranges::max(of_slot_));
  }

  void write_part(int, ThreadPool&, ByteWriter& part) override {
    part.put_list(heads_);
    part.put_list(largest_);
    heads_.clear();
    largest_.clear();
  }

  void read_part(int, ByteReader& part) override {
    const auto heads = part.take_list<Index>();
    const auto largest = part.take_list<double>();
    if (heads.size() != largest.size()) {
      throw DamagedPartError("a largest logit for each head", "others");
    }
    for (std::size_t i = 0; i < heads.size(); ++i) {
      double& value = of_layer_.try_emplace(heads[i], kLeast).first->second;
      value = std::max(value, largest[i]);
    }
  }

  void end_layer(int layer, const LayerStatistics&, ThreadPool&) override {
    layers_[layer] = std::exchange(of_layer_, {});
  }

  void derive(std::span<const LayerStatistics* const>, Results& results) override {
    LabelledArray& largest = add_declared(results, metric::largest_logit);
    const std::vector<int> layers = coordinate_numbers(results, "layer");
    const std::vector<int> heads = coordinate_numbers(results, "head");
    for (Index l = 0; l < std::ssize(layers); ++l) {
      const auto of_layer = layers_.find(layers[l]);
      for (Index h = 0; of_layer != layers_.end() && h < std::ssize(heads); ++h) {
        const auto found = of_layer->second.find(heads[h]);
        if (found == of_layer->second.end() || found->second == kLeast) continue;
        largest({l, h}) = found->second;
      }
    }
  }

 private:
  MetricHandle max_, mean_, log_sum_exp_;
  std::vector<double> of_slot_;  // of the present head
  // The heads of the present document so far, and the largest logit of each.
  std::vector<Index> heads_;
  std::vector<double> largest_;
  std::map<Index, double> of_layer_;               // by head
  std::map<int, std::map<Index, double>> layers_;  // by number
};

}  // namespace

std::unique_ptr<Measure> make_logits_measure(int slots) {
  return std::make_unique<LogitsMeasure>(slots);
}

}  // namespace headgauge
