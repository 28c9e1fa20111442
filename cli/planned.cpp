#include "cli/planned.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <filesystem>

namespace headgauge::cli {

Option plan_option(const std::string& owner, std::string& file) {
  return {.member = owner + "::plan",
          .value = &file,
          .form = "FILE",
          .group = option_group::measured,
          .help = "Run the model under this plan, which headgauge plan wrote",
          .details = "See [plan.md](plan.md); a plan for another model is refused",
          .expects = "a file",
          .none = "none"};
}

void run_under_plan(HeadSource& source, const std::string& file, const ScanOptions& scan) {
  if (file.empty()) return;
  if (scan.pattern != "none" || scan.normalizer != "softmax") {
    throw UsageError(
        fault("--plan", "a plan alone",
              scan.pattern != "none" ? "--pattern beside it" : "--normalizer beside it",
              "leave one of the two out, or write it into the plan"));
  }
  source.intervene(make_interventions(read_plan(file), source, file));
}

std::string unchanged_heads(const std::string& file, const HeadSource& source) {
  const HeadInterventions interventions = make_interventions(read_plan(file), source, file);
  std::vector<std::string> names;
  interventions.each([&](int layer, int head, const HeadIntervention& of_head) {
    if (!of_head.changes()) names.push_back(fmt::format("{}.{}", layer, head));
  });
  if (names.empty()) {
    throw UsageError(fault(file, "a plan that leaves some heads as they are",
                           "one that changes all of them",
                           "what a head needs is measured of heads that see all keys"));
  }
  return fmt::format("{}", fmt::join(names, ","));
}

std::string plan_file(const std::string& folder, const std::string& budget) {
  std::string word;
  for (const char c : budget) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.') word += c;
    if (c == ' ' && !word.empty() && word.back() != '_') word += '_';
  }
  while (word.ends_with('_')) word.pop_back();
  return (std::filesystem::path(folder) / ("plan_" + word + ".json")).string();
}

}  // namespace headgauge::cli
