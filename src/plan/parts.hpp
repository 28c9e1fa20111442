// Combines parts of the work, each a share of the whole, into one progress.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "headgauge/base.hpp"

namespace headgauge {

class Parts {
 public:
  explicit Parts(Progress* whole) : whole_(whole) {}
  void begin(std::string name, double from, double to) {
    name_ = std::move(name);
    from_ = from;
    to_ = to;
    done_ = 0;
  }
  // A part of `steps` steps.
  void begin(std::string name, double from, double to, double steps) {
    begin(std::move(name), from, to, std::function<double(double)>());
    most_steps_ = steps;
  }
  // A part whose progress `done` tells from the share of the cache at a step; empty: its steps do.
  void begin(std::string name, double from, double to, std::function<double(double share)> done) {
    begin(std::move(name), from, to);
    steps_ = 0;
    done_at_ = std::move(done);
  }
  // Reports a step at a share of the cache, or some part of a step.
  void step(double share, double steps = 1) {
    steps_ += steps;
    update(fmt::format("{:.4g} %", 100 * share), done_at_ ? done_at_(share) : steps_ / most_steps_);
  }
  // Reports a step of a part with a number of them.
  void step(const std::string& what) { update(what, ++steps_ / most_steps_); }
  // Progress never decreases.
  void update(const std::string& what, double done) {
    done_ = std::max(done_, std::min(done, 1.0));
    if (whole_ != nullptr) {
      whole_->update(fmt::format("{} {}", name_, what), from_ + (to_ - from_) * done_, 1);
    }
  }

 private:
  Progress* whole_;
  std::string name_;
  double from_ = 0, to_ = 1, done_ = 0;
  double steps_ = 0, most_steps_ = 1;
  std::function<double(double)> done_at_;
};

}  // namespace headgauge
