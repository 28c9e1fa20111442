// Gradients of the reverse pass against torch's autograd in float64 (tests/golden/README.md), and
// what a comparison cannot show.
#include <gtest/gtest.h>

#include <cmath>

#include "headgauge/headgauge.hpp"
#include "headgauge/patterns.hpp"
#include "model/golden.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

HeadIntervention choice(const std::string& pattern, const std::string& normalizer = "") {
  HeadIntervention made;
  if (!pattern.empty()) made.pattern = make_pattern(pattern);
  if (!normalizer.empty()) made.normalizer = make_normalizer(normalizer);
  return made;
}

// ||a - b|| / ||b||
double distance(std::span<const double> a, std::span<const double> b) {
  double apart = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    apart += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(apart / size);
}

std::vector<std::string> gradient_cases() {
  std::vector<std::string> names;
  const Safetensors file = Golden::open("gradients");
  for (const auto& [name, rest] : file.metadata()) {
    names.push_back("gradients/" + name);
  }
  return names;
}

class ReverseParity : public ::testing::TestWithParam<std::string> {};

TEST_P(ReverseParity, WithAutograd) {
  const Golden golden(GetParam());
  const auto tokens = golden.get<int>("tokens");
  const auto source = testing::open_model({{"golden", tokens, ""}}, {.threads = 2},
                                          "tests/golden/" + golden["folder"].get<std::string>());
  const SourceInfo& info = source->info();
  GatedHeads heads{{choice(""), choice("sinks:sinks=2,window=5"), choice("", "uniform"),
                    choice("", "softmax:t=2")},
                   PerHead<std::vector<double>>(info.layers, info.heads)};
  const auto gates = golden.get<double>("gates");
  auto at = gates.begin();
  heads.gates.each([&](int, int, std::vector<double>& of_head) {
    of_head.assign(at, at + 4);
    at += 4;
  });
  const int document = 0;
  const auto found = source->gradients(
      {&document, 1}, heads,
      [](int, const NextTokens& next) {
        TokenWeights weights;
        for (std::size_t t = 0; t < next.losses.size(); ++t) {
          weights.losses.push_back((static_cast<double>(t % 3) + 0.5) /
                                   static_cast<double>(next.losses.size()));
        }
        return weights;
      },
      true);
  const Gradients& gradients = found.front();
  const auto losses = golden.get<double>("losses");
  for (std::size_t t = 0; t < losses.size(); ++t)
    EXPECT_NEAR(gradients.next.losses[t], losses[t], 1e-5);
  std::vector<double> by_gates;
  for (const auto& of_head : gradients.gates)
    by_gates.insert(by_gates.end(), of_head.begin(), of_head.end());
  // 1e-6, or twice what rounding to float32 changes.
  const auto tolerance = [&](const char* of) {
    return std::max(1e-6, 2 * golden["float32_deviation"][of].get<double>());
  };
  EXPECT_LT(distance(by_gates, golden.get<double>("by_gates")), tolerance("by_gates"));
  const double of_residual = tolerance("by_residual");
  const auto norms = golden.get<double>("residual_norms");
  std::vector<double> by_residual;
  for (int layer = 0; layer < info.layers; ++layer) {
    const auto place = static_cast<std::size_t>(layer);
    double square = 0;
    for (Index r = 0; r < std::ssize(tokens); ++r) {
      for (const float by : gradients.residual[place].row(r)) {
        square += static_cast<double>(by) * by;
      }
      const auto first = gradients.residual[place].row(r).first(8);
      by_residual.insert(by_residual.end(), first.begin(), first.end());
    }
    EXPECT_NEAR(std::sqrt(square), norms[place], of_residual * norms[place]) << layer;
  }
  EXPECT_LT(distance(by_residual, golden.get<double>("by_residual")), of_residual);
}

INSTANTIATE_TEST_SUITE_P(All, ReverseParity, ::testing::ValuesIn(gradient_cases()),
                         golden_test_name);

}  // namespace
}  // namespace headgauge
