// The greedy search: effects of single heads, then walks from plan to plan (docs/mathematics.md
// 7e). It measures every head under every candidate, so it is for small models.
#pragma once

#include <stop_token>
#include <vector>

#include "plan/finder.hpp"
#include "plan/parts.hpp"

namespace headgauge {

class GreedyFinder final : public Finder {
 public:
  // `texts` is what the outputs of heads are measured on if not all heads are screened.
  GreedyFinder(const PlanSpace& space, JointChange& loss, HeadSource& texts,
               const PlanOptions& options, Parts& progress, std::stop_token stop);

  void prepare(double least, double most) override;
  std::vector<FoundPlan> within(double share) override;
  const SearchPoint* by_layer(double share) const override { return best_within(by_layer_, share); }
  std::vector<SearchPoint> all() const override;
  double steps_of_share() const override { return 2; }
  Screening screening() const override { return screening_; }

 private:
  void screen();
  void expect_by_output(const std::vector<HeadGroup>& groups,
                        const PerHead<std::vector<double>>& outputs);
  Effects layer_effects();

  const PlanSpace& space_;
  const JointChange& loss_;
  HeadSource& texts_;
  const PlanOptions& options_;
  Parts& progress_;
  std::stop_token stop_;
  PlanSearch search_;
  Effects effects_;  // effects of single heads, from the screening
  Screening screening_;
  std::vector<SearchPoint> shrunk_, grown_, by_layer_;
};

}  // namespace headgauge
