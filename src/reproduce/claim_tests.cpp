#include "reproduce/claim_tests.hpp"

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

std::vector<DeclaredClaim> read_claims(std::string_view text) {
  const nlohmann::json file = parse_json(text, "claims");
  using Texts = std::map<std::string, std::string>;
  std::vector<DeclaredClaim> claims;
  std::map<std::string, ClaimTexts> known;
  for (const nlohmann::json& json : file.at("claims")) {
    DeclaredClaim& claim = claims.emplace_back();
    claim.thresholds = json.value("thresholds", Thresholds());
    const std::string theorem = json.value("theorem", "");
    claim.words.name = json.at("name");
    claim.words.paper = file.at("paper");
    claim.words.figure = json.at("figure");
    claim.words.statement = json.at("statement");
    claim.words.reading = json.at("reading");
    if (json.contains("as")) {
      claim.texts = known.at(json["as"]);
    } else {
      claim.texts = {.measured = json.at("measured"),
                     .more = json.value("more", Texts()),
                     .not_tested = json.value("not_tested", Texts()),
                     .facts = json.at("facts")};
      claim.texts.more.merge(file.value("more", Texts()));
      claim.texts.not_tested.merge(file.value("not_tested", Texts()));
    }
    known[claim.words.name] = claim.texts;
    const Results none;
    claim.words.test =
        Evidence(none, claim.thresholds, claim.texts).filled(json.at("test").get<std::string>());
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
  Claim claim = words;
  Evidence found(results, used, texts);
  try {
    test(found);
    found.write(claim);
  } catch (const NotTested& reason) {
    claim.verdict = Verdict::not_tested;
    claim.measured = reason.what();
  }
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
