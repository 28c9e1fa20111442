// What parity with Hugging Face (parity_test.cpp) cannot show: the two forms of the config, what is
// refused, and when a text's length changes the frequencies.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/made_file.hpp"
#include "faults.hpp"
#include "model/rope.hpp"

namespace headgauge {
namespace {

using testing::expect_error;

Rope rope_of(const std::string& fields, Index head_dim = 8, Index trained = 64) {
  return Rope(ConfigReader(fmt::format("{{{}}}", fields), "m/config.json"), head_dim, trained, {});
}

TEST(Rope, TurnsPairsByPowersOfTheta) {
  const auto frequencies = rope_of(R"("rope_theta": 16)").frequencies(10);
  ASSERT_EQ(frequencies.size(), 4);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(frequencies[i], std::pow(2.0, -1.0 * i));
  EXPECT_EQ(rope_of("").text(), "theta 10000");
  EXPECT_EQ(rope_of(R"("rope_scaling": null)").text(), "theta 10000");
  EXPECT_EQ(rope_of(R"("rope_scaling": {"rope_type": "default"})").text(), "theta 10000");
}

TEST(Rope, ReadsBothFormsAlike) {
  const std::string yarn = R"("factor": 4.0, "original_max_position_embeddings": 16)";
  const std::string llama3 =
      R"("factor": 8.0, "low_freq_factor": 1, "high_freq_factor": 4,
         "original_max_position_embeddings": 32)";
  const std::string longrope =
      R"("factor": 4.0, "short_factor": [1, 2, 3, 4], "long_factor": [5, 6, 7, 8])";
  const std::vector<std::pair<std::string, std::string>> kinds = {{"linear", R"("factor": 2.5)"},
                                                                  {"dynamic", R"("factor": 2.5)"},
                                                                  {"yarn", yarn},
                                                                  {"llama3", llama3},
                                                                  {"longrope", longrope}};
  for (const auto& [kind, fields] : kinds) {
    SCOPED_TRACE(kind);
    const auto read = [&](const char* form) {
      return rope_of(fmt::format(fmt::runtime(form), kind, fields));
    };
    const Rope rope = read(R"("rope_theta": 500, "rope_scaling": {{"rope_type": "{}", {}}})");
    const Rope old = read(R"("rope_theta": 500, "rope_scaling": {{"type": "{}", {}}})");
    const Rope next = read(R"("rope_parameters": {{"rope_theta": 500, "rope_type": "{}", {}}})");
    for (const Index length : {50, 100}) {
      EXPECT_EQ(rope.frequencies(length), old.frequencies(length));
      EXPECT_EQ(rope.frequencies(length), next.frequencies(length));
      EXPECT_NE(rope.frequencies(length), rope_of(R"("rope_theta": 501)").frequencies(length));
    }
    EXPECT_EQ(rope.attention_factor(), next.attention_factor());
    expect_part(rope.text(), kind + " scaling by");
  }
}

TEST(Rope, SaysWhenTheLengthChangesTheFrequencies) {
  const Rope dynamic = rope_of(R"("rope_scaling": {"rope_type": "dynamic", "factor": 2})");
  EXPECT_EQ(dynamic.frequencies(64), rope_of("").frequencies(64));
  EXPECT_NE(dynamic.frequencies(65), dynamic.frequencies(64));
  EXPECT_NE(dynamic.frequencies(66), dynamic.frequencies(65));
  EXPECT_EQ(dynamic.notice(64), "");
  expect_part(dynamic.notice(65), "dynamic RoPE scaling");
  expect_part(dynamic.notice(65), "more than 64 tokens");
  const Rope longrope = rope_of(R"("original_max_position_embeddings": 32, "rope_scaling":
      {"rope_type": "longrope", "short_factor": [1, 1, 1, 1], "long_factor": [2, 2, 2, 2]})");
  EXPECT_EQ(longrope.frequencies(32), rope_of("").frequencies(32));
  EXPECT_EQ(longrope.frequencies(33).front(), 0.5);
  EXPECT_EQ(longrope.notice(32), "");
  expect_part(longrope.notice(33), "more than 32 tokens");
  const Rope linear = rope_of(R"("rope_scaling": {"rope_type": "linear", "factor": 2})");
  EXPECT_EQ(linear.notice(1000), "");
}

TEST(Rope, RefusesWhatItCannotRunByName) {
  const auto refused = [](ErrorKind kind, const std::string& fields,
                          const std::vector<std::string>& parts) {
    SCOPED_TRACE(fields);
    expect_error(kind, parts, [&] { rope_of(fields); });
  };
  const ErrorKind unsupported = ErrorKind::unsupported, bad = ErrorKind::bad_input;
  refused(unsupported, R"("rope_scaling": {"type": "mrope", "factor": 2})",
          {"m/config.json: field rope_scaling.type", "\"mrope\"", "yarn", "llama3"});
  refused(unsupported, R"("rope_parameters": {"rope_type": "proportional"})",
          {"field rope_parameters.rope_type", "\"proportional\""});
  refused(unsupported, R"("rope_parameters": {"full_attention": {"rope_theta": 1e6}})",
          {"field rope_parameters.full_attention", "its own RoPE"});
  refused(unsupported, R"("partial_rotary_factor": 0.5)", {"partial_rotary_factor", "0.5"});
  refused(unsupported, R"("rope_parameters": {"partial_rotary_factor": 0.5})",
          {"rope_parameters.partial_rotary_factor"});
  refused(bad, R"("rope_scaling": {"rope_type": "yarn", "type": "linear", "factor": 2})",
          {"rope_scaling.type", "\"yarn\"", "\"linear\""});
  refused(bad, R"("rope_scaling": {"factor": 2})", {"rope_scaling.type", "no such field"});
  refused(bad, R"("rope_theta": 10000, "rope_scaling": {"rope_theta": 500, "type": "default"})",
          {"rope_scaling.rope_theta", "10000, as outside", "found 500"});
  refused(bad, R"("rope_scaling": "linear")", {"rope_scaling", "an object"});
  for (const char* theta : {"0", "1e-300", "1", "1e39"}) {
    refused(bad, std::string(R"("rope_theta": )") + theta, {"rope_theta", "a number from 2 to"});
  }
  for (const char* mscale : {"-14.4269504", "-1000", "1e30"}) {
    refused(bad,
            std::string(R"("rope_scaling": {"type": "yarn", "factor": 2, "mscale_all_dim": 1,
                            "mscale": )") +
                mscale + "}",
            {"rope_scaling.mscale", "scales vectors by 0.001 to"});
  }
  for (const char* factor : {"0", "-1", "1e30"}) {
    refused(bad,
            std::string(R"("rope_scaling": {"type": "yarn", "factor": 2, "attention_factor": )") +
                factor + "}",
            {"rope_scaling.attention_factor", "a number from 0.001 to"});
  }
  refused(bad, R"("rope_scaling": {"type": "linear"})", {"rope_scaling.factor"});
  refused(bad, R"("rope_scaling": {"type": "linear", "factor": -1})",
          {"rope_scaling.factor", "found -1"});
  refused(bad, R"("rope_scaling": {"type": "longrope", "short_factor": [1, 2],
                                   "long_factor": [1, 1, 1, 1]})",
          {"rope_scaling.short_factor", "4 numbers", "found 2"});
  refused(bad, R"("rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1, 1],
                                   "long_factor": [1, 1, 0, 1]})",
          {"rope_scaling.long_factor", "positive"});
  refused(bad, R"("rope_scaling": {"type": "llama3", "factor": 2, "low_freq_factor": 4,
          "high_freq_factor": 4, "original_max_position_embeddings": 32})",
          {"rope_scaling.high_freq_factor", "more than"});
  expect_error(bad, {"head_dim", "an even number", "found 7"}, [] { rope_of("", 7); });
  expect_error(unsupported, {"head_dim", "dynamic"},
               [] { rope_of(R"("rope_scaling": {"type": "dynamic", "factor": 2})", 2); });
}

TEST(RotaryTable, GivesTheSameWhateverCameBefore) {
  const Rope dynamic = rope_of(R"("rope_scaling": {"rope_type": "dynamic", "factor": 2})");
  const std::vector<float> in = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto turned = [&](RotaryTable& table, Index length, Index position) {
    table.prepare(dynamic, length);
    std::vector<float> out(8);
    table.rotate(in, position, out);
    return out;
  };
  RotaryTable kept;
  for (const Index length : {10, 64, 100, 20, 64, 99, 100}) {
    RotaryTable fresh;
    EXPECT_EQ(turned(kept, length, length - 1), turned(fresh, length, length - 1)) << length;
  }
  // By the definition: the pair (x_i, x_{i + d/2}) as a complex number times e^{i p f}.
  RotaryTable table;
  const auto out = turned(table, 64, 5);
  const auto frequencies = dynamic.frequencies(64);
  for (std::size_t i = 0; i < 4; ++i) {
    const double angle = 5 * frequencies[i];
    EXPECT_NEAR(out[i], in[i] * std::cos(angle) - in[i + 4] * std::sin(angle), 1e-5);
    EXPECT_NEAR(out[i + 4], in[i] * std::sin(angle) + in[i + 4] * std::cos(angle), 1e-5);
  }
}

}  // namespace
}  // namespace headgauge
