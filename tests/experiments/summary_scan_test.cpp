// The summary of what was really scanned: the phantom, whose heads are known, and the demo model.
#include <gtest/gtest.h>

#include "faults.hpp"
#include "findings/summary.hpp"
#include "findings/summary_facts.hpp"
#include "headgauge/headgauge.hpp"
#include "phantom/phantom.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

ScanOptions options_of(std::vector<int> lengths) {
  ScanOptions options;
  options.lengths = std::move(lengths);
  options.threads = 2;
  return options;
}

// In repeated.txt every token comes twice, so that the same-token head looks far back.
Results phantom_results(double strength, const std::string& name) {
  const testing::TemporaryFolder folder(name + "-" + std::to_string(strength));
  write_phantom(folder.path(), strength);
  auto source =
      make_model_source(resolve_model(folder.path()),
                        {{"repeated.txt", read_token_ids(folder / "repeated.txt"), ""}}, {});
  return scan(*source, options_of({32, 64, 128}));
}

class PhantomSummary : public ::testing::TestWithParam<double> {};

TEST_P(PhantomSummary, NamesTheHeadsThatWereBuilt) {
  const Results results = phantom_results(GetParam(), "phantom-summary");
  testing::expect_every_number_is_in_the_results(results);

  const auto lines = testing::findings_of(results);
  ASSERT_EQ(lines.size(), 6u);
  for (const SummaryLine& line : lines) {
    EXPECT_NE(line.means, "") << line.text;
    EXPECT_NE(line.next.find("`headgauge "), line.next.npos) << line.text;
    EXPECT_EQ(line.aside, line.text.find("critical N") != line.text.npos ||
                              line.text.find("permuted") != line.text.npos);
  }
  const auto says = [&](std::size_t line, const std::string& words) {
    EXPECT_NE(lines[line].text.find(words), std::string::npos)
        << "expected: " << words << "\nfound: " << lines[line].text;
  };
  says(0, "1 of 7 heads rests on sinks");
  says(0, "most in head 0.1");
  says(0, ": more than 5 % goes to the first token in 1 head");
  says(1, "1 head looks at what followed earlier copies of the token (induction: head 0.5)");
  says(1,
       "1 looks at the token before (previous: head 0.2), 1 looks at earlier copies (copies: head "
       "0.3)");
  // Uniform, and one-hot.
  says(2, "the flattest is head 0.0 (entropy 1.00 of its maximum), the sharpest head 0.4 (0.00)");
  says(3, "head 0.4 keeps selecting (0.00 ± 0.00)");
  says(4, "at no N up to 127");
  // The phantom has 128 positions, all of them measured: nothing is foreseen.
  expect_no_part(lines[3].text, "should spread");
}

INSTANTIATE_TEST_SUITE_P(Strengths, PhantomSummary, ::testing::Values(6.0, 9.0, 12.0));

// Stronger heads, other sentences: all that names a number of them.
TEST(PhantomSentences, DifferBetweenStrengths) {
  const auto lines = [](double strength) {
    return testing::findings_of(phantom_results(strength, "phantom-sentences"));
  };
  const auto weak = lines(1), strong = lines(12);
  ASSERT_EQ(weak.size(), strong.size());
  std::size_t same = 0;
  for (std::size_t i = 0; i < weak.size(); ++i) {
    EXPECT_FALSE(strong[i].facts.empty());
    EXPECT_FALSE(strong[i].heads.empty());
    same += weak[i].text == strong[i].text;
  }
  // What disperses most and what is advised rest on the uniform head, which has no strength; and
  // no N is shown to be critical at any.
  EXPECT_LE(same, 3U);
}

TEST(DemoSummary, EveryNumberIsInTheResults) {
  const std::string model = testing::source_path("demo/model");
  if (!testing::exists(model + "/model.safetensors")) GTEST_SKIP() << "no demo model";
  const std::string text = read_text_file(testing::source_path("demo/text.txt"));
  auto source = make_model_source(resolve_model(model),
                                  {{"text.txt", Tokenizer::load(model).encode(text), ""}}, {});
  const Results results = scan(*source, options_of({64, 512}));
  const auto lines = testing::findings_of(results);
  ASSERT_EQ(lines.size(), 6u);
  expect_part(lines[3].text, "; at L = 1024 they should spread over ");
  expect_part(lines[3].text, "(95 % intervals: one octave before");
  testing::expect_every_number_is_in_the_results(results);
}

}  // namespace
}  // namespace headgauge
