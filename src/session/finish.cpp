#include "session/finish.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/file.hpp"
#include "results/sentences.hpp"
#include "scan/resolved_scan.hpp"

namespace headgauge {
namespace {

nlohmann::ordered_json names_of_kind(const Texts& texts, bool are_ids) {
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  for (const Text& text : texts) {
    if (text.is_ids == are_ids) names.push_back(text.name);
  }
  return names;
}

constexpr std::size_t kBeginning = 4096;  // bytes that show what a file is
constexpr std::string_view kMarkup[] = {".htm",   ".html", ".ipynb", ".json",
                                        ".jsonl", ".rtf",  ".xml"};

// Says which texts are measured with their markup.
void add_markup_notices(const Texts& texts, std::vector<std::string>& notices) {
  for (const Text& text : texts) {
    std::string kind = std::filesystem::path(text.name).extension().string();
    std::ranges::transform(kind, kind.begin(), [](unsigned char c) { return std::tolower(c); });
    if (text.is_ids || !text.is_file() || std::ranges::find(kMarkup, kind) == std::end(kMarkup))
      continue;
    const std::string begin = beginning_of(text.name, kBeginning);
    const bool has_cases =
        begin.find("\"prompt") != begin.npos && begin.find("\"answer") != begin.npos;
    notices.push_back(text.name + " is measured as it stands, with its markup" +
                      (has_cases ? "; give a file of cases as ScanRequest::tasks" : ""));
  }
}

}  // namespace

Results described(const HeadSource& source) {
  Results results;
  source.describe(results);
  return results;
}

ScanOptions resolved(const ScanOptions& options, const SourceInfo& source) {
  const ScanOptions filled = resolve_scan(options, source).options;
  ScanOptions resolved = options;
  resolved.lengths = filled.lengths;
  resolved.queries = filled.queries;
  resolved.examples = filled.examples;
  resolved.measure.temperatures = filled.measure.temperatures;
  resolved.measure.top_n = filled.measure.top_n;
  return resolved;
}

void write_own_settings(const std::vector<Option>& options, std::string_view owner,
                        nlohmann::ordered_json& settings) {
  for (const Option& option : options) {
    if (option.member.starts_with(owner)) write_settings({option}, settings);
  }
}

void complete(Results& results, const Ending& ending) {
  const Input& input = ending.input;
  if (!input.model.empty()) {
    results.settings["text"] = names_of_kind(input.texts, false);
    results.settings["tokens"] = names_of_kind(input.texts, true);
  }
  write_own_settings(ending.options, ending.owner, results.settings);
  std::ranges::copy(input.cases.notices, std::back_inserter(results.notices));
  results.summary = ending.summarize(results);
  for (SummaryLine& line : results.summary) {
    if (!input.model.has_name()) line.next.clear();  // commands open a model by its name
    // A probe is generated in the tokens of a tokenizer.
    if (line.next == next_command("probe") && !input.model.has_tokenizer()) {
      line.next = next_command("compare_tasks");
    }
  }
  if (input.model.has_own_queries() && !input.texts.empty()) {
    results.notices.push_back("the texts were not read, because a dump has its own queries");
  } else {
    add_markup_notices(input.texts, results.notices);
    const std::string& notice = input.model.tokenizer_notice();
    const bool splits = !input.cases.documents.empty() ||
                        std::ranges::any_of(input.texts, [](const Text& t) { return !t.is_ids; });
    if (splits && !notice.empty()) results.notices.push_back(notice);
  }
  use_option_names(results);
}

}  // namespace headgauge
