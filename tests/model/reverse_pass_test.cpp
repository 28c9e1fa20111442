// Gradients of the reverse pass against torch's autograd in float64 (tests/golden/README.md), and
// what a comparison cannot show.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "checkpoint/made_file.hpp"
#include "headgauge/headgauge.hpp"
#include "headgauge/patterns.hpp"
#include "kernels/levels.hpp"
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

TEST(ReversePass, EveryCommittedCheckpointHasGoldenGradients) {
  const std::vector<std::string> cases = gradient_cases();
  for (const std::string family : {"gpt2", "llama"}) {
    for (const auto& folder :
         std::filesystem::directory_iterator(testing::source_path("tests/golden/" + family))) {
      const std::string name = "gradients/" + family + "-" + folder.path().filename().string();
      EXPECT_EQ(std::ranges::count(cases, name), 1) << name;
    }
  }
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
  const auto weigh = [](int, const NextTokens& next) {
    std::vector<double> weights;
    const auto count = static_cast<double>(next.losses.size());
    for (std::size_t t = 0; t < next.losses.size(); ++t) {
      weights.push_back((static_cast<double>(t % 3) + 0.5) / count);
    }
    return weights;
  };
  const auto found =
      source->gradients({&document, 1}, heads, {.weigh = weigh, .by_residual = true});
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

constexpr int kGatedTokens = 90;  // more than a tile
const std::string kGrouped = "tests/golden/llama/llama-plain";

std::vector<double> same_weights(int /*document*/, const NextTokens& next) {
  return std::vector(next.losses.size(), 1.0);
}

// The gradient by gates, head after head, of two documents, and the sum of their losses.
struct Found {
  std::vector<double> gates, residual;
  double loss = 0;
};
Found gradients_of(const GatedHeads& heads, int threads = 1) {
  const auto text = [](int count, int slope) {
    Document document{"text", {}, ""};
    for (int i = 0; i < count; ++i) document.tokens.push_back((i * i + slope * i) % 31);
    return document;
  };
  const auto source = testing::open_model({text(kGatedTokens, 3), text(kGatedTokens - 20, 5)},
                                          {.threads = threads}, kGrouped);
  Found found;
  for (const Gradients& one :
       source->gradients(std::vector{0, 1}, heads, {.weigh = same_weights, .by_residual = true})) {
    for (const auto& of_head : one.gates) {
      found.gates.insert(found.gates.end(), of_head.begin(), of_head.end());
    }
    for (const Matrix<float>& of_layer : one.residual) {
      found.residual.insert(found.residual.end(), of_layer.data(),
                            of_layer.data() + of_layer.rows() * of_layer.cols());
    }
    for (const double loss : one.next.losses) found.loss += loss;
  }
  return found;
}

GatedHeads gated(std::vector<HeadIntervention> choices, double first, double second) {
  const SourceInfo info = testing::open_model({{"a", {1, 2}, ""}}, {}, kGrouped)->info();
  GatedHeads heads{std::move(choices), PerHead<std::vector<double>>(info.layers, info.heads)};
  heads.gates.each([&](int layer, int head, std::vector<double>& of_head) {
    of_head = {first + 0.1 * head, second - 0.05 * layer};
  });
  return heads;
}

TEST(ReversePass, HasTheSameBitsOnAnyNumberOfThreads) {
  const GatedHeads heads = gated({choice(""), choice("sinks:sinks=1,window=7")}, 0.6, 0.5);
  const Found one = gradients_of(heads, 1), three = gradients_of(heads, 3);
  EXPECT_EQ(one.gates, three.gates);
  EXPECT_EQ(one.residual, three.residual);
}

using ReverseLevels = EveryLevel;

TEST_P(ReverseLevels, AgreeWithTheBest) {
  const GatedHeads heads = gated({choice(""), choice("", "sink:b=1")}, 0.6, 0.5);
  const Found found = gradients_of(heads);
  set_simd_level(simd_levels().back());
  const Found other = gradients_of(heads);
  EXPECT_LT(distance(found.gates, other.gates), 1e-6);
  EXPECT_LT(distance(found.residual, other.residual), 1e-6);
}

HEADGAUGE_EVERY_LEVEL(ReverseLevels);

// Every normalizer, by differences: the loss under gates a step along a direction on either side. A
// sparse rule has kinks, which a step crosses in some rows.
TEST(ReversePass, IsTheSlopeOfTheLossUnderEveryNormalizer) {
  for (const NormalizerInfo& info : normalizers()) {
    if (info.name == "cosine" || info.name == "topk") continue;  // refused; jumps
    const std::vector<HeadIntervention> choices = {choice(""), choice("", info.name)};
    constexpr double kStep = 0.002;
    const GatedHeads heads = gated(choices, 0.6, 0.4);
    const double after = gradients_of(gated(choices, 0.6 + kStep, 0.4 - kStep / 2)).loss;
    const double before = gradients_of(gated(choices, 0.6 - kStep, 0.4 + kStep / 2)).loss;
    const Found found = gradients_of(heads);
    double slope = 0;
    for (std::size_t i = 0; i < found.gates.size(); ++i) {
      slope += found.gates[i] * (i % 2 == 0 ? 1.0 : -0.5);
    }
    const double measured = (after - before) / (2 * kStep);
    EXPECT_NEAR(slope, measured, 1e-2 * std::abs(measured)) << info.name;
    EXPECT_GT(std::abs(measured), 0.1) << info.name << ": otherwise this shows nothing";
  }
}

// Losses that count nothing have a gradient of 0, and no layer is run back for it.
TEST(ReversePass, OfNoWeightsIsZero) {
  const auto source = testing::open_model({{"a", {1, 2, 3}, ""}}, {}, kGrouped);
  const GatedHeads heads = gated({choice(""), choice("window:size=1")}, 0.6, 0.4);
  const auto no_weights = [](int, const NextTokens& next) {
    return std::vector(next.losses.size(), 0.0);
  };
  int layers = 0;
  const Differentiated what = {.weigh = no_weights, .before_layer = [&] { ++layers; }};
  const Gradients found = source->gradients(std::vector{0}, heads, what).front();
  EXPECT_EQ(layers, source->info().layers);
  EXPECT_EQ(found.next.losses.size(), 2);
  ASSERT_EQ(found.gates.heads(), heads.gates.heads());
  for (const auto& of_head : found.gates) EXPECT_EQ(of_head, (std::vector{0.0, 0.0}));
}

TEST(ReversePass, RefusesChoicesWithoutADerivative) {
  testing::expect_error(ErrorKind::unsupported, {"choices with a derivative", "cosine"}, [] {
    gradients_of(gated({choice(""), choice("", "cosine")}, 0.6, 0.5));
  });
}

}  // namespace
}  // namespace headgauge
