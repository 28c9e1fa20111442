// Combines parts of the work, each a share of the whole, into one progress.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "headgauge/base.hpp"

namespace headgauge {

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

}  // namespace headgauge
