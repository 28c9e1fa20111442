// What a reproduction says of its claims in short, counted here by hand.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headgauge/scan.hpp"

namespace headgauge {
namespace {

Claim claim(std::string name, Verdict verdict, bool theorem = false, bool ours = false) {
  Claim made;
  made.name = std::move(name);
  made.verdict = verdict;
  made.theorem = theorem;
  made.ours = ours;
  return made;
}

std::vector<std::string> said_of(std::vector<Claim> claims) {
  Results results;
  results.command = Command::reproduce_limits;
  results.claims = std::move(claims);
  std::vector<std::string> said;
  for (const SummaryLine& line : summarize(results)) {
    if (line.lead) said.push_back(line.text);
  }
  return said;
}

TEST(ClaimsSummary, CountsVerdictsAndWhatTheyRestOn) {
  Claim turning = claim("turning", Verdict::does_not_hold);
  turning.turns = {"factor = 1.44 in place of 1.2: holds"};
  const std::vector<std::string> said =
      said_of({claim("a", Verdict::holds, true), claim("b", Verdict::holds, true, true),
               claim("c", Verdict::holds), turning, claim("e", Verdict::not_tested, true, true),
               claim("f", Verdict::not_tested)});
  ASSERT_EQ(said.size(), 3);
  EXPECT_EQ(said[0], "Of 6 claims, 3 hold, 1 does not hold, 0 cannot be told, 2 were not tested.");
  EXPECT_EQ(said[1],
            "2 verdicts rest on a theorem, 1 of them on headgauge's own; 2 on a reading of the "
            "paper that stands with the claim: on average at most 0.05 of these are wrong by "
            "chance.");
  EXPECT_EQ(said[2], "If a threshold of ours moves by a fifth, 1 verdict turns: turning.");
}

TEST(ClaimsSummary, SaysThatNoVerdictTurns) {
  const std::vector<std::string> said = said_of({claim("a", Verdict::cannot_tell)});
  ASSERT_EQ(said.size(), 3);
  EXPECT_EQ(said[0], "Of 1 claim, 0 hold, 0 do not hold, 1 cannot be told, 0 were not tested.");
  EXPECT_EQ(said[2], "If a threshold of ours moves by a fifth, no verdict turns.");
}

TEST(ClaimsSummary, SaysNothingOfVerdictsThatThereAreNot) {
  Claim untested = claim("a", Verdict::not_tested);
  untested.turns = {"factor = 1.44 in place of 1.2: holds"};
  EXPECT_EQ(said_of({untested}).size(), 1);
  const std::vector<std::string> said = said_of({claim("a", Verdict::holds, true), untested});
  ASSERT_EQ(said.size(), 3);
  EXPECT_EQ(said[1], "1 verdict rests on a theorem.");
  EXPECT_EQ(said[2], "If a threshold of ours moves by a fifth, no verdict turns.");
}

}  // namespace
}  // namespace headgauge
