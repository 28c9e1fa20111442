// The search for plans by gradient: gates mix the outputs of each head's choices, and move to what
// lowers the cost (docs/mathematics.md 7f).
#pragma once

#include <cstdint>
#include <vector>

#include "plan/joint_change.hpp"
#include "plan/parts.hpp"
#include "plan/space.hpp"

namespace headgauge {

class GateSearch {
 public:
  // `loss` is measured on the search documents.
  GateSearch(const PlanSpace& space, JointChange& loss, const PlanOptions& options,
             Parts& progress);

  // Moves the gates for a share of the cache, from where the last call left them.
  void move_to(double share);
  // Returns the choices that the gates prefer within a share, by group: those of the last step, or
  // the mean over the second half of the steps.
  Choices preferred(const std::vector<HeadGroup>& groups, double share, bool last = false) const;

 private:
  // By place in units_ and choice.
  using Preferences = std::vector<std::vector<double>>;

  std::vector<double> priced(std::size_t unit, double price) const;
  double expected_share(double price) const;
  Preferences draw_gates(double price);
  Preferences gradient(const Preferences& gates);

  const PlanSpace& space_;
  JointChange& loss_;
  std::vector<HeadGroup> units_;
  std::uint64_t seed_;
  int steps_;
  int taken_ = 0;  // steps of all calls
  Parts& progress_;
  Preferences last_, mean_;
};

}  // namespace headgauge
