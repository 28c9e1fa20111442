// The search for plans by gradient: gates mix the outputs of each head's choices, and move to what
// lowers the cost (docs/mathematics.md 7f).
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/joint_change.hpp"
#include "plan/space.hpp"

namespace headgauge {

// Combines parts of the work, each a share of the whole, into one progress.
class Parts {
 public:
  explicit Parts(Progress* whole) : whole_(whole) {}
  // A part of `steps` steps.
  void begin(std::string name, double from, double to, double steps) {
    name_ = std::move(name);
    from_ = from;
    to_ = to;
    steps_ = done_ = 0;
    most_steps_ = steps;
  }
  // Reports a step.
  void step(const std::string& what) { update(what, ++steps_ / most_steps_); }

 private:
  // Progress never decreases.
  void update(const std::string& what, double done) {
    done_ = std::max(done_, std::min(done, 1.0));
    if (whole_ != nullptr) {
      whole_->update(fmt::format("{} {}", name_, what), from_ + (to_ - from_) * done_, 1);
    }
  }

  Progress* whole_;
  std::string name_;
  double from_ = 0, to_ = 1, done_ = 0;
  double steps_ = 0, most_steps_ = 1;
};

class GateSearch {
 public:
  // `loss` is measured on the search documents.
  GateSearch(const PlanSpace& space, JointChange& loss, const PlanOptions& options,
             Parts& progress);

  // Moves the gates for a share of the cache, from where the last call left them.
  void move_to(double share);
  // A choice that a head or layer is not to take.
  struct Ban {
    std::size_t unit = 0;  // of PlanSpace::units()
    int choice = 0;
  };
  // Returns the choices that the gates prefer within a share, in the mean over the second half of
  // the steps, by head or layer as the search is, or by whole layers.
  Choices preferred(double share, std::span<const Ban> bans = {}) const;
  Choices preferred_by_layer(double share) const;
  // Returns the choices of preferred() that have a chance below kClear at the price of the share,
  // the least clear first.
  std::vector<Ban> unclear(double share) const;
  static constexpr double kClear = 0.9;
  // A number for each unit and choice.
  using Preferences = std::vector<std::vector<double>>;
  // Returns the mean over the second half of the steps.
  const Preferences& preferences() const { return mean_; }

 private:
  std::vector<double> priced(const Preferences& of, std::size_t unit, double price) const;
  double price_of(const Preferences& preferences, double share) const;
  Preferences draw_gates(double price, int document) const;
  Choices best_within(const std::vector<HeadGroup>& groups, const Preferences& preferences,
                      double share) const;
  Preferences gradient(double price);

  const PlanSpace& space_;
  JointChange& loss_;
  std::vector<HeadGroup> units_;
  std::uint64_t seed_;
  int steps_;
  int taken_ = 0;  // steps of all calls
  double sharpness_ = 1;
  Parts& progress_;
  Preferences last_, mean_;
};

}  // namespace headgauge
