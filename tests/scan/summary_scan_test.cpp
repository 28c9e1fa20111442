// The summary of what was really scanned: the phantom, whose heads are known, and the demo model.
#include <gtest/gtest.h>

#include "headgauge/headgauge.hpp"
#include "scan/summary.hpp"
#include "scan/summary_facts.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

ScanOptions options_of(std::vector<int> lengths) {
  ScanOptions options;
  options.lengths = std::move(lengths);
  options.threads = 2;
  return options;
}

class PhantomSummary : public ::testing::TestWithParam<double> {};

// In repeated.txt every token comes twice, so that the same-token head looks far back.
TEST_P(PhantomSummary, NamesTheHeadsThatWereBuilt) {
  const testing::TemporaryFolder folder("phantom-summary-" + std::to_string(GetParam()));
  write_phantom(folder.path(), GetParam());
  auto source =
      make_model_source(resolve_model(folder.path()),
                        {{"repeated.txt", read_token_ids(folder / "repeated.txt"), ""}}, {});
  const Results results = scan(*source, options_of({32, 64, 128}));
  testing::expect_every_number_is_in_the_results(results);

  const auto lines = summarize(results);
  ASSERT_EQ(lines.size(), 5u);
  const auto says = [&](std::size_t line, const std::string& words) {
    EXPECT_NE(lines[line].find(words), std::string::npos)
        << "expected: " << words << "\nfound: " << lines[line];
  };
  says(0, "the flattest is head 0.0 (1.00), the sharpest head 0.4 (0.00)");  // uniform, one-hot
  says(1, "head 0.1 rests on the first token");                              // sink
  says(1, "head 0.4 looks at itself (0.00 back)");                           // one-hot
  says(1, GetParam() > 8 ? "head 0.2 looks at the previous token"            // previous token
                         : "head 0.2 is the most local sharp one");
  says(1, "head 0.3 selects from furthest away");  // same token
  says(2, "head 0.4 keeps selecting (0.00 +- 0.00)");
  says(2, "(one octave before, such forecasts held for ");  // not "unreliable"
}

INSTANTIATE_TEST_SUITE_P(Strengths, PhantomSummary, ::testing::Values(6.0, 9.0, 12.0));

TEST(DemoSummary, EveryNumberIsInTheResults) {
  const std::string model = testing::source_path("demo/model");
  if (!testing::exists(model + "/model.safetensors")) GTEST_SKIP() << "no demo model";
  const std::string text = read_text_file(testing::source_path("demo/text.txt"));
  auto source = make_model_source(resolve_model(model),
                                  {{"text.txt", Tokenizer::load(model).encode(text), ""}}, {});
  const Results results = scan(*source, options_of({64, 512}));
  EXPECT_EQ(summarize(results).size(), 6u);
  testing::expect_every_number_is_in_the_results(results);
}

}  // namespace
}  // namespace headgauge
