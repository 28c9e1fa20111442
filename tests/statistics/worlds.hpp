// Worlds in which nothing is there to find, by the thousand: a test at level .05 must find
// something in 5 % of them, and an interval must miss the truth in as many.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "base/random.hpp"
#include "headgauge/base.hpp"

namespace headgauge {

inline constexpr int kWorlds = 2000;

// Draws of one world, always the same.
class World {
 public:
  explicit World(int number)
      : random_(20, RandomDomain::phantom, static_cast<std::uint32_t>(number), 0) {}

  std::vector<double> normals(Index n, double mean = 0, double deviation = 1) {
    std::vector<double> values(n);
    random_.normals(values, next_);
    next_ += static_cast<std::uint32_t>(n + 1) / 2;
    for (double& v : values) v = mean + deviation * v;
    return values;
  }
  double uniform() { return random_.uniforms(next_++)[0]; }
  std::vector<double> uniforms(Index n) {
    std::vector<double> values(n);
    for (double& v : values) v = uniform();
    return values;
  }

 private:
  RandomStream random_;
  std::uint32_t next_ = 0;
};

// In which share of the worlds something happens.
inline double share_of_worlds(const std::function<bool(World&)>& happens) {
  int count = 0;
  for (int number = 0; number < kWorlds; ++number) {
    World world(number);
    count += happens(world) ? 1 : 0;
  }
  return static_cast<double>(count) / kWorlds;
}

// 3 standard errors of a share of the worlds whose expectation is `level`.
inline double three_errors(double level) {
  return 3 * std::sqrt(level * (1 - level) / kWorlds);
}

enum class Level { exact, conservative };

// A test that gives this p rejects at .05 and .01 as often as these say; a conservative one no more
// often, and at .05 at least half as often.
inline void expect_level(const std::function<double(World&)>& p_of, Level kind = Level::exact) {
  for (const double level : {0.05, 0.01}) {
    const double share = share_of_worlds([&](World& world) { return p_of(world) <= level; });
    EXPECT_LE(share, level + three_errors(level)) << "at " << level;
    if (kind == Level::exact) {
      EXPECT_GE(share, level - three_errors(level)) << "at " << level;
    } else if (level == 0.05) {
      EXPECT_GE(share, level / 2) << "at " << level;
    }
  }
}

}  // namespace headgauge
