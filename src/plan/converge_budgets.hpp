// The number of keys that each key-value head needs according to converge(), at one tolerance for
// all heads.
#pragma once

#include <stop_token>
#include <vector>

#include "headgauge/converge.hpp"
#include "plan/space.hpp"

namespace headgauge {

class ConvergeBudgets {
 public:
  // Measures the unchanged source at `context`, for tolerances from 0.01 to 1. Throws what
  // converge() throws, and Stopped.
  ConvergeBudgets(HeadSource& source, Index context, std::uint64_t seed, int threads,
                  Progress* progress, std::stop_token stop);

  const std::vector<double>& tolerances() const { return tolerances_; }  // ascending
  // Returns budgets that keep the output of every head within tolerance number `t`, as the last
  // keys alone or with 4 sinks. Heads that share keys keep as many as the head that needs the most.
  PerHead<HeadPlan> at(const PlanSpace& space, std::size_t t, bool sinks) const;
  // Returns the largest budgets that fit into the share of the cache; empty if even the smallest do
  // not fit.
  PerHead<HeadPlan> within(const PlanSpace& space, double share, bool sinks) const;

 private:
  std::vector<double> tolerances_;
  std::vector<PerHead<Index>> keys_;  // by tolerance
};

}  // namespace headgauge
