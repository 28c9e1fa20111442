// The figures' script and the engine that it runs in.
#include <gtest/gtest.h>

#include <string>

#include "faults.hpp"
#include "headgauge/headgauge.hpp"
#include "report/engine.hpp"
#include "results/made_results.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

std::string run(const std::string& draw, const std::string& data = "{}") {
  return report::run_figures(
      "var headgauge_figures = {draw: " + draw + "};", data, [](std::string_view name) {
        if (name == "fails") throw ResourceError("no more memory");
        return name == "none" ? std::string() : "<" + std::string(name) + ">";
      });
}

std::string failure(const std::string& draw) {
  return thrown<BadInputError>([&] { run(draw); });
}

TEST(Engine, PassesTextsBothWays) {
  EXPECT_EQ(run("(data, load) => data + load('a') + load('b')", "{\"\u00e9\": 1}"),
            "{\"\u00e9\": 1}<a><b>");
  EXPECT_EQ(run("(data, load) => String(load('none'))"), "undefined");
}

TEST(Engine, ReportsWhatTheScriptThrows) {
  expect_part(failure("() => { throw new Error('no such thing'); }"), "no such thing");
  expect_part(failure("() => 3"), "results that can be drawn");
  expect_part(failure("() => 'x'.repeat(1 << 29).repeat(64)"), "results that can be drawn");
  expect_part(failure("syntax error"), "results that can be drawn");
}

TEST(Engine, SaysThatMemoryRanOut) {
  const std::string said = thrown<ResourceError>(
      [] { run("() => { const all = []; for (;;) all.push(new ArrayBuffer(1 << 30)); }"); });
  EXPECT_TRUE(said.starts_with("figures: expected enough memory to draw them, found ")) << said;
}

TEST(Engine, ReportsInOneLineAndNotTheStack) {
  EXPECT_EQ(failure("() => { const deep = (n) => { if (n === 0) throw new Error('a\\nb');"
                    " deep(n - 1); }; deep(9); }"),
            "figures: expected results that can be drawn, found \"Error: a\"; measure again with "
            "this headgauge, or leave the figures out");
}

TEST(Engine, LetsErrorsOfTheLoaderThrough) {
  EXPECT_THROW(run("(data, load) => load('fails')"), ResourceError);
  EXPECT_THROW(run("(data, load) => { try { load('fails'); } catch (e) {} return ''; }"),
               ResourceError);
}

// Neither files nor the network nor the program.
TEST(Engine, HasNothingToReachOutWith) {
  EXPECT_EQ(run("() => ['fetch', 'require', 'process', 'std', 'os', 'XMLHttpRequest']"
                ".filter((name) => name in globalThis).join()"),
            "");
}

TEST(Figures, AreDrawnFromWhatWasMeasured) {
  const std::string model = testing::source_path("demo/model");
  if (!testing::exists(model + "/model.safetensors")) GTEST_SKIP() << "no demo model";
  auto source = make_model_source(
      resolve_model(model),
      {{"text.txt",
        Tokenizer::load(model).encode(read_text_file(testing::source_path("demo/text.txt"))), ""}},
      {});
  ScanOptions options;
  options.lengths = {64, 128};
  options.threads = 2;
  const Results results = scan(*source, options);
  const testing::TemporaryFolder folder("report-figures");
  const auto paths = write_drawings(draw_figures(results), folder.path());
  EXPECT_GE(paths.size(), 5U);
  for (const std::string& path : paths) {
    const std::string svg = read_text_file(path);
    EXPECT_TRUE(svg.starts_with("<svg ")) << path;
    EXPECT_TRUE(svg.ends_with("</svg>\n")) << path;
    EXPECT_EQ(svg.find("NaN"), svg.npos) << path;
    EXPECT_EQ(svg.find("undefined"), svg.npos) << path;
  }
  const auto again = draw_figures(results);
  ASSERT_EQ(again.size(), paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) EXPECT_EQ(again[i].svg, read_text_file(paths[i]));
}

TEST(Figures, AreLightOrDark) {
  Results results;
  results.set_coord("length", std::vector<double>{16, 32});
  results.add_metric(metric::loss, {"length"}, "nats").values = {3, 2};
  constexpr const char* kDark = "#14181d";  // --ground of web/src/page/style/base.css
  for (const auto& [theme, is_dark] : {std::pair(Theme::light, false), {Theme::dark, true}}) {
    const std::vector<Drawing> drawn = draw_figures(results, theme);
    ASSERT_FALSE(drawn.empty());
    EXPECT_EQ(drawn.front().svg.find(kDark) != std::string::npos, is_dark);
  }
}

TEST(Figures, OfNothingAreNone) {
  Results results = made_results();
  results.metrics.clear();
  results.flags.clear();  // roles have a map of their own
  EXPECT_TRUE(draw_figures(results).empty());
}

}  // namespace
}  // namespace headgauge
