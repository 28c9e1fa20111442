#include "plan/gate_search.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "base/random.hpp"
#include "plan/confirmation.hpp"
#include "plan/tiny_plan.hpp"

namespace headgauge {
namespace {

constexpr int kSteps = 12;

// Asks for a stop after a number of steps; 0: never.
class StopAfterSteps final : public Progress {
 public:
  explicit StopAfterSteps(int steps) : left_(steps) {}
  void update(std::string_view, double /*done*/, double /*total*/) override {
    if (--left_ == 0) stop.request_stop();
  }
  std::stop_source stop;

 private:
  int left_;
};

// A search on three texts. A folder has its journal.
class Search {
 public:
  explicit Search(const std::string& folder = "", int threads = 1, int stop_after = 0,
                  bool by_layer = false)
      : progress_(stop_after),
        parts_(&progress_),
        source_(testing::tiny_source(3, 1, threads)),
        space(source_->info(), 96,
              {{"sinks:sinks=2,window=46", ""},
               {"sinks:sinks=2,window=22", ""},
               {"window:size=8", ""},
               {"", "uniform"}},
              by_layer) {
    if (!folder.empty()) journal_.open(folder, {{"command", "plan"}}, "--out");
    options_.steps = kSteps;
    known_ = std::make_unique<Evaluations>(journal_);
    loss = std::make_unique<JointChange>(*source_, "search", *known_, progress_.stop.get_token());
    gates = std::make_unique<GateSearch>(space, *loss, options_, parts_);
    parts_.begin("search", 0, 1, 2 * kSteps);
  }
  ~Search() { journal_.flush(); }

  // Searches for two shares, one after the other.
  void run() {
    for (const double share : {0.5, 0.25}) gates->move_to(share);
  }
  Choices preferred(double share) const { return gates->preferred(share); }
  double cost(const PerHead<HeadPlan>& plan) { return loss->cost(loss->change(plan)); }

 private:
  StopAfterSteps progress_;
  Parts parts_;
  std::unique_ptr<HeadSource> source_;
  PlanOptions options_;
  Journal journal_;
  std::unique_ptr<Evaluations> known_;

 public:
  PlanSpace space;
  std::unique_ptr<JointChange> loss;
  std::unique_ptr<GateSearch> gates;
};

TEST(GateSearch, CostsLessThanTheSameEntriesInOtherHeads) {
  constexpr std::uint32_t kDraws = 20;
  Search search;
  for (const double share : {0.5, 0.25}) {
    search.gates->move_to(share);
    const PerHead<HeadPlan> plan = search.space.plan(search.preferred(share));
    double others = 0;
    for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
      others += search.cost(dealt(search.space, plan, 1, draw)) / kDraws;
    }
    EXPECT_LT(search.cost(plan), others) << share;
  }
}

TEST(GateSearch, WhatItPrefersKeepsNoMoreThanTheShare) {
  for (const bool by_layer : {false, true}) {
    Search search("", 1, 0, by_layer);
    search.run();
    const PlanSpace& space = search.space;
    for (const double share : {0.9, 0.75, 0.5, 0.3, 0.25, 0.1, 0.05, 1.0 / 96}) {
      EXPECT_LE(space.share(search.preferred(share)), share + 1e-12) << share;
      const Choices of_layers = search.gates->preferred_by_layer(share);
      EXPECT_LE(space.share(of_layers), share + 1e-12) << share;
      EXPECT_TRUE(!by_layer || std::ranges::equal(of_layers, search.preferred(share)));
      of_layers.each([&](int layer, int, int choice) { EXPECT_EQ(choice, of_layers(layer, 0)); });
    }
  }
}

TEST(GateSearch, TakesNoChoiceThatIsBanned) {
  Search search;
  search.run();
  const std::vector<GateSearch::Ban> unclear = search.gates->unclear(0.25);
  ASSERT_GT(unclear.size(), 1U) << "otherwise this shows nothing";
  const Choices before = search.preferred(0.25);
  const std::vector<HeadGroup> units = search.space.units();
  const Choices after = search.gates->preferred(0.25, unclear);
  EXPECT_LE(search.space.share(after), 0.25 + 1e-12);
  for (const auto& [unit, choice] : unclear) {
    const HeadGroup& head = units[unit];
    EXPECT_EQ(before(head.layer, head.heads.front()), choice);
    EXPECT_NE(after(head.layer, head.heads.front()), choice);
  }
}

// The steps of docs/mathematics.md 7f, written again.
GateSearch::Preferences after_steps(const PlanSpace& space, JointChange& loss, int steps,
                                    double share, std::uint64_t seed) {
  constexpr double kTemperature = 0.5, kRate = 0.15;
  const auto units = space.units();
  const int choices = space.size();
  using Numbers = GateSearch::Preferences;
  const Numbers zero(units.size(), std::vector<double>(static_cast<std::size_t>(choices)));
  Numbers t = zero, m = zero, v = zero, mean = zero;
  const auto softmax = [](std::vector<double> x) {
    double sum = 0;
    for (double& one : x) sum += one = std::exp(one);
    for (double& one : x) one /= sum;
    return x;
  };
  for (int step = 1; step <= steps; ++step) {
    const double sharpness = 1 + 2.0 * step / steps;
    const auto priced = [&](std::size_t u, double price) {
      std::vector<double> x = t[u];
      for (int c = 0; c < choices; ++c)
        x[c] = sharpness * x[c] - price * space.share_of(units[u], c);
      return x;
    };
    double low = 0, high = 1e5;
    for (int i = 0; i < 200; ++i) {
      const double price = (low + high) / 2;
      double kept = 0;
      for (std::size_t u = 0; u < units.size(); ++u) {
        const auto chances = softmax(priced(u, price));
        for (int c = 0; c < choices; ++c) kept += chances[c] * space.share_of(units[u], c);
      }
      (kept > share ? low : high) = price;
    }
    std::vector<Numbers> drawn;
    std::vector<PerHead<std::vector<double>>> gates;
    for (int d = 0; d < loss.sampled(); ++d) {
      Numbers& of_document = drawn.emplace_back();
      auto& of_heads = gates.emplace_back(space.layers(), space.heads());
      for (std::size_t u = 0; u < units.size(); ++u) {
        const RandomStream random(seed, RandomDomain::gates,
                                  static_cast<std::uint32_t>((step - 1) * loss.sampled() + d),
                                  static_cast<std::uint32_t>(u));
        std::vector<double> x = priced(u, high);
        for (int c = 0; c < choices; ++c) {
          const double uniform = random.uniforms(static_cast<std::uint32_t>(c))[0];
          x[c] = (x[c] - std::log(-std::log(uniform))) / kTemperature;
        }
        of_document.push_back(softmax(x));
        of_heads(units[u].layer, units[u].heads.front()) = of_document.back();
      }
    }
    const auto by_gates = loss.gradients_on_sample(space.choices(), gates, step - 1);
    for (std::size_t u = 0; u < units.size(); ++u) {
      for (int c = 0; c < choices; ++c) {
        double by = 0;
        for (std::size_t d = 0; d < gates.size(); ++d) {
          const auto& of_head = by_gates[d](units[u].layer, units[u].heads.front());
          const auto& w = drawn[d][u];
          for (int e = 0; e < choices; ++e) {
            by += of_head[e] * w[e] * ((c == e ? 1 : 0) - w[c]) / kTemperature;
          }
        }
        m[u][c] = 0.9 * m[u][c] + 0.1 * by;
        v[u][c] = 0.999 * v[u][c] + 0.001 * by * by;
        t[u][c] -= kRate * (m[u][c] / (1 - std::pow(0.9, step))) /
                   (std::sqrt(v[u][c] / (1 - std::pow(0.999, step))) + 1e-8);
        if (2 * step > steps) mean[u][c] += t[u][c] / (steps - steps / 2);
      }
    }
  }
  return mean;
}

TEST(GateSearch, IsTheSearchOfTheDocs) {
  constexpr double kShare = 0.4;
  const auto texts = testing::tiny_source(3);
  const auto cases = testing::tiny_model(
      {make_case(testing::made_ids(30, 4, 1), std::vector{3, 7}, {.task = "one"}, "cases"),
       make_case(testing::made_ids(30, 5, 2), std::vector{9, 2}, {.task = "other"}, "cases")});
  Evaluations known;
  JointChange loss({*texts, cases.get(), 0}, "search", known, {});
  const PlanSpace space(texts->info(), 96, {{"sinks:sinks=2,window=22", ""}, {"", "uniform"}},
                        false);
  PlanOptions options;
  options.steps = 5;
  options.seed = 3;
  Parts parts(nullptr);
  GateSearch search(space, loss, options, parts);
  search.move_to(kShare);
  const auto expected = after_steps(space, loss, options.steps, kShare, options.seed);
  for (std::size_t u = 0; u < expected.size(); ++u) {
    for (std::size_t c = 0; c < expected[u].size(); ++c) {
      EXPECT_NEAR(search.preferences()[u][c], expected[u][c], 1e-7) << u << " " << c;
    }
  }
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(GateSearch, HasTheSameBitsOnAnyNumberOfThreads) {
  const testing::TemporaryFolder one("gates-1"), three("gates-3");
  for (const auto& [folder, threads] : {std::pair{&one, 1}, {&three, 3}}) {
    Search(folder->path(), threads).run();
  }
  // The journal has every gradient, by the bits of its gates.
  const std::string journal = bytes_of(journal_path(one.path(), {}));
  ASSERT_FALSE(journal.empty());
  EXPECT_EQ(journal, bytes_of(journal_path(three.path(), {})));
}

TEST(GateSearch, GoesOnWhereItWasStopped) {
  constexpr int kBefore = kSteps + 2;  // in the second share
  const testing::TemporaryFolder straight("gates-whole"), stopped("gates-stopped");
  Choices whole;
  {
    Search search(straight.path());
    search.run();
    EXPECT_EQ(search.loss->computed(), 2 * kSteps);
    whole = search.preferred(0.25);
  }
  {
    Search search(stopped.path(), 1, kBefore);
    EXPECT_THROW(search.run(), Stopped);
    EXPECT_EQ(search.loss->computed(), kBefore);
  }
  {
    Search search(stopped.path());
    search.run();
    EXPECT_EQ(search.loss->computed(), 2 * kSteps - kBefore);
    EXPECT_TRUE(std::ranges::equal(search.preferred(0.25), whole));
  }
  EXPECT_EQ(bytes_of(journal_path(stopped.path(), {})),
            bytes_of(journal_path(straight.path(), {})));
}

}  // namespace
}  // namespace headgauge
