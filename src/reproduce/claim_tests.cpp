#include "reproduce/claim_tests.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/embed.hpp"
#include "base/strict_json.hpp"
#include "headgauge/claims.hpp"
#include "headgauge/text.hpp"

HEADGAUGE_EMBED(claims_of_limits, HEADGAUGE_CLAIMS "/limits.json");
HEADGAUGE_EMBED(claims_of_tokens, HEADGAUGE_CLAIMS "/tokens.json");

namespace headgauge {
namespace {

#define HEADGAUGE_NAME(name) {#name, name},
const std::map<std::string, ClaimTest> kTests = {HEADGAUGE_CLAIM_TESTS(HEADGAUGE_NAME)};
#undef HEADGAUGE_NAME

// Puts the thresholds into a text, in place of their names in braces.
std::string with_values(std::string text, const Thresholds& thresholds) {
  for (const auto& [name, value] : thresholds) {
    const std::string mark = fmt::format("{{{}}}", name);
    for (std::size_t at; (at = text.find(mark)) != std::string::npos;) {
      text.replace(at, mark.size(), fmt::format("{:g}", value));
    }
  }
  return text;
}

std::vector<DeclaredClaim> read_claims(std::string_view text) {
  const nlohmann::json file = parse_json(text, "claims");
  std::vector<DeclaredClaim> claims;
  for (const nlohmann::json& json : file.at("claims")) {
    DeclaredClaim& claim = claims.emplace_back();
    claim.thresholds = json.value("thresholds", Thresholds());
    const std::string theorem = json.value("theorem", "");
    claim.words.name = json.at("name");
    claim.words.paper = file.at("paper");
    claim.words.figure = json.at("figure");
    claim.words.statement = json.at("statement");
    claim.words.reading = json.at("reading");
    claim.words.test = with_values(json.at("test"), claim.thresholds);
    claim.words.theorem = !theorem.empty();
    claim.words.ours = theorem == "headgauge";
    for (const std::string turns_with : json.value("turns_with", nlohmann::json::array())) {
      (turns_with == "place" ? claim.with_places : claim.with_sinks) = true;
    }
    claim.test = kTests.at(claim.words.name);
  }
  return claims;
}

}  // namespace

Claim DeclaredClaim::judge(const Results& results, const Thresholds& used) const {
  Claim measured = test(results, used);
  Claim claim = words;
  claim.verdict = measured.verdict;
  claim.measured = std::move(measured.measured);
  claim.facts = std::move(measured.facts);
  return claim;
}

const std::vector<DeclaredClaim>& declared_claims(std::string_view paper) {
  static const auto kLimits = read_claims(HEADGAUGE_EMBEDDED(claims_of_limits));
  static const auto kTokens = read_claims(HEADGAUGE_EMBEDDED(claims_of_tokens));
  return paper == "A" ? kLimits : kTokens;
}

Claim judge_claim(std::string_view name, const Results& results) {
  for (const char* paper : {"A", "B"}) {
    for (const DeclaredClaim& claim : declared_claims(paper)) {
      if (claim.words.name == name) return claim.judge(results, claim.thresholds);
    }
  }
  throw BadInputError(
      fault("name", "the name of a claim", in_quotes(name), "docs/reproduce.md lists them"));
}

}  // namespace headgauge
