#include <algorithm>
#include <utility>
#include <vector>

#include "headgauge/advice.hpp"
#include "headgauge/session.hpp"

namespace headgauge {
namespace {

using Names = std::vector<std::pair<std::string, std::string>>;

template <class Options>
void add(Names& names) {
  Options options;
  for (const Option& option : options_of(options)) {
    names.emplace_back(option.member, "--" + option.name());
  }
}

// Sorted with the longest first, because one name may begin with another.
const Names& names() {
  static const Names all = [] {
    Names names = {
        {"compare() and CompareOptions::patterns", "headgauge compare --pattern"},
        {"confirm_gains()", "compare --confirm FILE"},
        {"parse_token_ids()", "--tokens"},
        {"reproduce_limits() with LimitsOptions::cut", "reproduce limits MODEL --text FILE"},
        {"reproduce_limits()", "reproduce limits MODEL --text FILE"},
        {"TokensOptions::folder", "--out"},
        {"TokensOptions::model", "MODEL and --text"},
        {"text_files(FILE)", "--text FILE"},
        {"text_files()", "--text"},
        {"token_files()", "--tokens"},
        {"Run::out", "--out"},
        {"Run::force", "--force"},
        {"Run::shard", "--shard"},
    };
    add<ScanRequest>(names);
    add<CompareRequest>(names);
    add<ConvergeRequest>(names);
    add<ValidateRequest>(names);
    add<PlanRequest>(names);
    add<LimitsRequest>(names);
    add<TokensRequest>(names);
    add<SyntheticOptions>(names);
    add<DiffRequest>(names);
    add<SeriesOptions>(names);
    add<TaskOptions>(names);
    std::ranges::stable_sort(
        names, [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
    return names;
  }();
  return all;
}

}  // namespace

std::string with_option_names(std::string text) {
  if (text.find("::") == text.npos && text.find("()") == text.npos) return text;
  for (const auto& [member, option] : names()) {
    for (auto at = text.find(member); at != text.npos; at = text.find(member, at)) {
      text.replace(at, member.size(), option);
      at += option.size();
      if (text.compare(at, 3, " = ") == 0) text.replace(at, 3, " ");
    }
  }
  return text;
}

void use_option_names(Results& results) {
  for (std::string& notice : results.notices) notice = with_option_names(std::move(notice));
  for (SummaryLine& line : results.summary) line.text = with_option_names(std::move(line.text));
  fill_in_commands(results);
  for (Claim& claim : results.claims) claim.measured = with_option_names(std::move(claim.measured));
}

}  // namespace headgauge
