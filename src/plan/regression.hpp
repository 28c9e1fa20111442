// A search for large models: the costs of all heads' choices by regression on the losses of random
// plans, then plans near the best (docs/mathematics.md 7e).
#pragma once

#include <cstdint>
#include <vector>

#include "plan/finder.hpp"
#include "plan/parts.hpp"

namespace headgauge {

class RegressionFinder final : public Finder {
 public:
  RegressionFinder(const PlanSpace& space, JointChange& loss, const PlanOptions& options,
                   Parts& progress);

  void prepare(double least, double most) override;
  std::vector<FoundPlan> within(double share) override;
  const SearchPoint* by_layer(double share) const override { return best_within(layers_, share); }
  std::vector<SearchPoint> all() const override { return measured_; }
  double steps_of_share() const override;

 private:
  // The cost of each choice, by layer and head.
  using Costs = PerHead<std::vector<double>>;

  // Measures `plans` random plans, each on a sample of the documents.
  void explore(int plans);
  std::vector<int> tried_choices() const;
  // Measures plans of at most the share for these groups of heads, in rounds, each on a sample of
  // the documents: each plan is the best under costs drawn from what the regression knows of them
  // (Thompson sampling), so that choices whose costs are uncertain are tried. The first plan of a
  // round is the best under the estimated costs. Returns what a further round would measure.
  std::vector<Choices> refine(double share, const std::vector<HeadGroup>& groups, int rounds,
                              int plans);
  std::vector<Choices> round(double share, const std::vector<HeadGroup>& groups, int plans);
  // Measures the candidates on one sample after the other, each time drops the worse half of them,
  // and returns the last `kept`.
  std::vector<Choices> race(std::vector<Choices> candidates, std::size_t kept);
  // Returns the measured plans of at most the share, lowest cost first, at most `most`.
  std::vector<SearchPoint> measured_within(double share, std::size_t most) const;

  // Finds the measured plans that give all heads of a layer the same choice.
  void keep_layers();
  std::size_t place(int layer, int head, int step) const;
  std::vector<double> features(const Choices& choices) const;
  Costs costs_of(const std::vector<double>& coefficients) const;
  Choices cheapest(const Costs& costs, const std::vector<HeadGroup>& groups, double share) const;
  // Measures on all documents.
  void measure(const Choices& choices);
  double measure_on_sample(const Choices& choices, int sample);

  const PlanSpace& space_;
  JointChange& loss_;
  std::uint64_t seed_;
  int samples_;
  Parts& progress_;
  std::vector<std::vector<int>> order_;         // by layer: the choices, most keys first
  std::vector<std::vector<int>> rank_;          // by layer and choice: its place in that order
  std::vector<SearchPoint> sampled_;            // each measured on a sample of the documents
  std::vector<SearchPoint> measured_, layers_;  // on all documents
  std::uint32_t draws_ = 0;
  int samples_taken_ = 0;
};

}  // namespace headgauge
