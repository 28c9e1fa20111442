// The keys that converge() says each key-value head needs, by one tolerance for all heads.
#pragma once

#include <stop_token>
#include <vector>

#include "headgauge/converge.hpp"
#include "plan/space.hpp"

namespace headgauge {

class ConvergeBudgets {
 public:
  // Measures the source at `context`, without an intervention; tolerances from 0.01 to 1. Throws
  // what converge() throws, and Stopped.
  ConvergeBudgets(HeadSource& source, Index context, std::uint64_t seed, int threads,
                  Progress* progress, std::stop_token stop);

  const std::vector<double>& tolerances() const { return tolerances_; }  // ascending
  // As many keys for every head as leave its output within tolerance number `t`, behind 4 sinks or
  // the last ones alone; heads that share keys keep as many as the one that needs the most.
  PerHead<HeadPlan> at(const PlanSpace& space, std::size_t t, bool sinks) const;
  // The largest budgets that fit into the share of the cache; empty where even the smallest do not.
  PerHead<HeadPlan> within(const PlanSpace& space, double share, bool sinks) const;

 private:
  std::vector<double> tolerances_;
  std::vector<PerHead<Index>> keys_;  // by tolerance
};

}  // namespace headgauge
