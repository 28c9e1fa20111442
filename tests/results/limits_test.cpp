#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "faults.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/diff.hpp"

namespace headgauge {
namespace {

using Numbers = std::vector<double>;

// One layer with heads 0, 1, 2 at lengths 32 and 64; a loss; a critical N for each head.
Results limits_run(const Numbers& m, const Numbers& critical = {4, 4, 4}) {
  Results r;
  r.set_coord("layer", Numbers{0});
  r.set_coord("head", Numbers{0, 1, 2});
  r.set_coord("length", Numbers{32, 64});
  LabelledArray& of_heads = r.add_metric("m", {"layer", "head", "length"}, "1");
  of_heads.values = m;
  of_heads.standard_error.assign(m.size(), 0.3);  // combined: 0.424
  r.add_metric("critical_n_head", {"layer", "head"}, "keys").values = critical;
  r.set_coord(kOutcome, std::vector<std::string>{kText});
  r.add_metric("loss", {kOutcome, "length"}, "nats").values = {5, 6};
  r.add_metric("empty", {"length"}, "nats");
  return r;
}

const Numbers kOnes = {1, 1, 1, 1, 1, 1};

std::vector<Limit> limits_of(const std::string& limits) {
  return parse_limits(
      fmt::format("{{\"schema\": \"headgauge.limits/1\", \"limits\": [{}]}}", limits), "l.json");
}

LimitCheck check(const std::string& limit, const Results& before, const Results& after) {
  return check_limits(diff(before, after), limits_of(limit)).front();
}

TEST(Limits, IncreaseAndDecreaseAreApart) {
  const Results up = limits_run({1, 1.5, 1, 1, 1, 1}), down = limits_run({1, 0.5, 1, 1, 1, 1});
  const Results same = limits_run(kOnes);
  EXPECT_EQ(check(R"({"metric": "m", "max_increase": 0.4})", same, up).exceeded, 1);
  EXPECT_EQ(check(R"({"metric": "m", "max_increase": 0.5})", same, up).exceeded, 0);
  EXPECT_EQ(check(R"({"metric": "m", "max_increase": 0})", same, down).exceeded, 0);
  EXPECT_EQ(check(R"({"metric": "m", "max_decrease": 0.4})", same, down).exceeded, 1);
  EXPECT_EQ(check(R"({"metric": "m", "max_decrease": 0})", same, up).exceeded, 0);
  EXPECT_EQ(check(R"({"metric": "m", "max_decrease": 0})", same, same).exceeded, 0);
  EXPECT_EQ(check(R"({"metric": "m", "max_decrease": 0})", same, same).values, 6);
  const LimitCheck worst = check(R"({"metric": "m", "max_increase": 0.1, "max_decrease": 0.25})",
                                 same, limits_run({1, 1.5, 0.2, 1, 1, 1.2}));
  EXPECT_EQ(worst.exceeded, 3);
  EXPECT_EQ(worst.worst.labels[1].second, "1") << "0.55 too low, where the others are 0.4 too high";
  EXPECT_EQ(worst.worst.labels[2].second, "32");
  EXPECT_EQ(worst.allowed, 0.25);
}

TEST(Limits, RelativeIsOfTheOldValue) {
  const Results before = limits_run({10, 10, 10, 10, 10, -10}),
                after = limits_run({10, 12, 10, 10, 10, -8});
  EXPECT_EQ(
      check(R"({"metric": "m", "max_increase": 0.21, "relative": true})", before, after).exceeded,
      0);
  const LimitCheck found =
      check(R"({"metric": "m", "max_increase": 0.19, "relative": true})", before, after);
  EXPECT_EQ(found.exceeded, 2);
  EXPECT_NEAR(found.allowed, 1.9, 1e-12);
  EXPECT_EQ(
      check(R"({"metric": "m", "max_increase": 0.19, "relative": false})", before, after).exceeded,
      2);
}

TEST(Limits, ErrorsGiveRoom) {
  const Results before = limits_run(kOnes), after = limits_run({1, 2, 1, 1, 1, 1});  // 2.357 errors
  EXPECT_EQ(check(R"({"metric": "m", "max_increase": 0, "errors": 2})", before, after).exceeded, 1);
  EXPECT_EQ(check(R"({"metric": "m", "max_increase": 0, "errors": 2.5})", before, after).exceeded,
            0);
  EXPECT_EQ(check(R"({"metric": "m", "max_increase": 0.2, "errors": 2})", before, after).exceeded,
            0);
  // Where there are no errors, they give none.
  Results worse = before;
  worse.metric("loss")->values[0] = 5.1;
  EXPECT_EQ(check(R"({"metric": "loss", "max_increase": 0, "errors": 9})", before, worse).exceeded,
            1);
}

TEST(Limits, HeadsAndWhereChooseTheValues) {
  const Results before = limits_run(kOnes), after = limits_run({2, 2, 2, 2, 2, 2});
  const auto exceeded = [&](const std::string& more) {
    return check(fmt::format("{{\"metric\": \"m\", \"max_increase\": 0{}}}", more), before, after)
        .exceeded;
  };
  EXPECT_EQ(exceeded(""), 6);
  EXPECT_EQ(exceeded(R"(, "heads": "0.1")"), 2);
  EXPECT_EQ(exceeded(R"(, "heads": "0.0-1")"), 4);
  EXPECT_EQ(exceeded(R"(, "heads": "*.*")"), 6);
  EXPECT_EQ(exceeded(R"(, "where": {"length": 64})"), 3);
  EXPECT_EQ(exceeded(R"(, "where": {"length": [32, 64]})"), 6);
  EXPECT_EQ(exceeded(R"(, "where": {"length": 64, "head": [0, 2]})"), 2);
  EXPECT_EQ(exceeded(R"(, "heads": "0.1", "where": {"length": 32})"), 1);
}

TEST(Limits, ALimitForNothingIsAnError) {
  const Results run = limits_run(kOnes);
  const auto fault_of = [&](const std::string& limit) {
    return thrown<BadInputError>([&] { check(limit, run, run); });
  };
  expect_part(fault_of(R"({"metric": "n", "max_increase": 0})"),
              "l.json: limits[0]: metric: expected a metric that was compared, found \"n\"; these "
              "were: m, critical_n_head, loss");
  expect_part(fault_of(R"({"metric": "m_change", "max_increase": 0})"), "that was compared");
  expect_part(fault_of(R"({"metric": "m", "heads": "1.0", "max_increase": 0})"), "found \"1.0\"");
  expect_part(fault_of(R"({"metric": "m", "heads": "0.0,0.7", "max_increase": 0})"), "heads 0-2");
  expect_part(fault_of(R"({"metric": "m", "heads": "all", "max_increase": 0})"), "found \"all\"");
  expect_part(fault_of(R"({"metric": "loss", "heads": "0.0", "max_increase": 0})"),
              "loss is not of single heads");
  expect_part(fault_of(R"({"metric": "m", "where": {"length": 128}, "max_increase": 0})"),
              "found 128; they share 32, 64");
  expect_part(fault_of(R"({"metric": "m", "where": {"length": [32, 65]}, "max_increase": 0})"),
              "they share 32, 64");
  expect_part(fault_of(R"({"metric": "m", "where": {"length": "32"}, "max_increase": 0})"),
              "they share");
  expect_part(fault_of(R"({"metric": "m", "where": {"top_n": 5}, "max_increase": 0})"),
              "dims of m (layer, head, length), found \"top_n\"");
  expect_part(fault_of(R"({"metric": "m", "where": {"run": "new"}, "max_increase": 0})"),
              "\"run\"");
  expect_part(fault_of(R"({"metric": "empty", "max_increase": 0})"), "no value of empty");
  expect_part(fault_of(R"({"metric": "two\nlines", "max_increase": 0})"), "two\\x0alines");
}

TEST(Limits, ValuesThatVanishExceedAndNewOnesAreNotChecked) {
  const Results whole = limits_run(kOnes);
  const Results holed = limits_run({1, kUndefined, 1, 1, 1, 1});
  const LimitCheck lost = check(R"({"metric": "m", "max_increase": 9})", whole, holed);
  EXPECT_EQ(lost.exceeded, 1);
  EXPECT_TRUE(std::isnan(lost.worst.after));
  const LimitCheck come = check(R"({"metric": "m", "max_increase": 9})", holed, whole);
  EXPECT_EQ(come.exceeded, 0);
  EXPECT_EQ(come.values, 5);
  EXPECT_EQ(come.unchecked, 1);
  // A gate is never passed because nothing was checked.
  const Results nothing = limits_run(std::vector<double>(6, kUndefined));
  EXPECT_THROW(check(R"({"metric": "m", "max_increase": 9})", nothing, whole), BadInputError);
}

TEST(Limits, CriticalNNotFoundIsAboveAll) {
  const Results found = limits_run(kOnes, {4, 4, 4}), lost = limits_run(kOnes, {4, -1, -1});
  const std::string up = R"({"metric": "critical_n_head", "max_increase": 100})";
  const std::string down = R"({"metric": "critical_n_head", "max_decrease": 100})";
  EXPECT_EQ(check(up, found, lost).exceeded, 2);
  EXPECT_TRUE(check(up, found, lost).found_on_one_side);
  EXPECT_EQ(check(down, found, lost).exceeded, 0);
  EXPECT_EQ(check(up, lost, found).exceeded, 0);
  EXPECT_EQ(check(down, lost, found).exceeded, 2);
  EXPECT_EQ(check(up, lost, lost).exceeded, 0);
  EXPECT_EQ(check(R"({"metric": "critical_n_head", "max_increase": 1})", found,
                  limits_run(kOnes, {4, 6, 4}))
                .exceeded,
            1);
}

TEST(LimitsFile, ReadsEveryKey) {
  const auto limits = limits_of(
      R"({"metric": "m", "heads": "0.1", "where": {"length": [32, 64], "normalizer": "ssmax"},
          "max_increase": 0.5, "max_decrease": 0.25, "relative": true, "errors": 2},
         {"metric": "loss", "max_decrease": 1})");
  ASSERT_EQ(limits.size(), 2u);
  EXPECT_EQ(limits[0].metric, "m");
  EXPECT_EQ(limits[0].heads, "0.1");
  ASSERT_EQ(limits[0].where.size(), 2u);
  EXPECT_EQ(std::get<Numbers>(limits[0].where[0].second), (Numbers{32, 64}));
  EXPECT_EQ(std::get<std::vector<std::string>>(limits[0].where[1].second).front(), "ssmax");
  EXPECT_EQ(limits[0].max_increase, 0.5);
  EXPECT_EQ(limits[0].max_decrease, 0.25);
  EXPECT_TRUE(limits[0].relative);
  EXPECT_EQ(limits[0].errors, 2);
  EXPECT_TRUE(std::isinf(limits[1].max_increase));
  EXPECT_FALSE(limits[1].relative);
  EXPECT_EQ(limits[1].errors, 0);
  EXPECT_EQ(limits[1].place, "l.json: limits[1]");
}

TEST(LimitsFile, RefusesWhatIsNotSuchAFile) {
  const auto fault_of = [](const std::string& text) {
    return thrown<BadInputError>([&] { parse_limits(text, "l.json"); });
  };
  expect_part(fault_of(""), "l.json: expected a JSON object, found");
  expect_part(fault_of("{"), "the end of the file at byte 1");
  expect_part(fault_of("[]"), "expected a JSON object, found a list of 0");
  expect_part(fault_of("{}"), "\"schema\" with \"headgauge.limits/1\", found no such key");
  expect_part(fault_of(R"({"schema": "headgauge.results/1"})"), "found \"headgauge.results/1\"");
  expect_part(fault_of(R"({"schema": "headgauge.limits/x"})"), "found \"headgauge.limits/x\"");
  expect_part(fault_of(R"({"schema": 1})"), "found 1");
  expect_part(fault_of(R"({"schema": "headgauge.limits/1"})"),
              "a list of at least one, found none");
  expect_part(fault_of(R"({"schema": "headgauge.limits/1", "limits": []})"), "found a list of 0");
  expect_part(fault_of(R"({"schema": "headgauge.limits/1", "limits": {}})"), "found an object");
  expect_part(fault_of(R"({"schema": "headgauge.limits/1", "limit": []})"), "\"limit\"");
  expect_part(fault_of(R"({"schema": "headgauge.limits/1", "schema": 1, "limits": []})"),
              "found the name \"schema\" twice");
  expect_part(fault_of(R"({"limits": )" + std::string(80000, '[')), "nested deeper than 64");
  expect_part(thrown<UnsupportedError>(
                  [] { parse_limits(R"({"schema": "headgauge.limits/2", "new": 1})", "l.json"); }),
              "read it with a newer headgauge");
}

TEST(LimitsFile, RefusesLimitsThatSayNothing) {
  const auto fault_of = [](const std::string& limit) {
    return thrown<BadInputError>([&] { limits_of(limit); });
  };
  const auto with = [&](const std::string& more) {
    return fault_of(fmt::format("{{\"metric\": \"m\", \"max_increase\": 1, {}}}", more));
  };
  expect_part(fault_of("1"), "l.json: limits[0]: expected an object, found 1");
  expect_part(fault_of(R"({"metric": "m"})"), "found neither");
  expect_part(fault_of(R"({"max_increase": 1})"), "a key \"metric\"");
  expect_part(fault_of(R"({"metric": "", "max_increase": 1})"),
              "limits[0]: metric: expected some text");
  expect_part(fault_of(R"({"metric": "m", "max_increase": -1})"), "at least 0, found -1");
  expect_part(fault_of(R"({"metric": "m", "max_increase": "1"})"), "found \"1\"");
  expect_part(fault_of(R"({"metric": "m", "max_increase": null})"), "found null");
  expect_part(fault_of(R"({"metric": "m", "max_increase": 1e999})"), "a number beyond float64");
  expect_part(with(R"("max_incraese": 1)"), "found \"max_incraese\"");
  expect_part(with(R"("max_increase": 2)"), "\"max_increase\" twice");
  expect_part(with(R"("heads": 3)"), "limits[0]: heads");
  expect_part(with(R"("heads": "")"), "limits[0]: heads");
  expect_part(with(R"("relative": 1)"), "true or false, found 1");
  expect_part(with(R"("errors": -1)"), "limits[0]: errors");
  expect_part(with(R"("where": 3)"), "limits[0]: where");
  expect_part(with(R"("where": {"length": []})"), "an empty list");
  expect_part(with(R"("where": {"length": [32, "a"]})"), "found both");
  expect_part(with(R"("where": {"length": null})"), "found null");
  expect_part(with(R"("where": {"length": 32, "length": 64})"), "\"length\" twice");
  expect_part(with(R"("where": {"length": 32}, "max_increase": 0)"), "\"max_increase\" twice");
  // The same key in two objects is none twice.
  EXPECT_EQ(
      limits_of(R"({"metric": "m", "max_increase": 1}, {"metric": "m", "max_increase": 1})").size(),
      2u);
}

}  // namespace
}  // namespace headgauge
