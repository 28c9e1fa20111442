#include "session/planned.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace headgauge {
namespace {

const std::string kPrefix = "plan_";

}  // namespace

void PlanInput::apply(HeadSource& source, const ScanOptions& scan) {
  if (file.empty()) return;
  if (scan.pattern != "none" || scan.normalizer != "softmax") {
    throw UsageError(
        fault("ScanRequest::plan", "a plan alone",
              scan.pattern != "none" ? "ScanOptions::pattern too" : "ScanOptions::normalizer too",
              "leave one of the two out, or write it into the plan"));
  }
  plan = read_plan(file);
  source.intervene(make_interventions(*plan, source, file));
}

std::string PlanInput::unchanged_heads(const HeadSource& source) const {
  const HeadInterventions interventions = make_interventions(*plan, source, file);
  std::vector<std::string> names;
  interventions.each([&](int layer, int head, const HeadIntervention& of_head) {
    if (!of_head.changes()) names.push_back(fmt::format("{}.{}", layer, head));
  });
  if (names.empty()) {
    throw UsageError(fault(file, "a plan that leaves some heads as they are",
                           "one that changes all of them",
                           "the keys that a head needs are measured on heads that see all keys"));
  }
  return fmt::format("{}", fmt::join(names, ","));
}

void PlanInput::describe(Results& results) const {
  if (!plan) return;
  results.settings["plan_sha256"] = plan->sha256;
  const std::string notice = context_notice(*plan, file, results);
  if (!notice.empty()) results.notices.push_back(notice);
}

std::string context_notice(const AttentionPlan& plan, const std::string& file,
                           const Results& results) {
  if (plan.context == 0 || results.coord("length") == nullptr) return {};
  const auto longest = static_cast<Index>(results.coord_numbers("length").back());
  if (longest == plan.context) return {};
  return fmt::format(
      "{} was made and confirmed for a context of {} tokens, but the longest here has {}: its "
      "confirmation says nothing about this context",
      file, plan.context, longest);
}

std::string plan_file(const std::string& folder, const std::string& budget) {
  std::string word;
  for (const char c : budget) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.') word += c;
    if (c == ' ' && !word.empty() && word.back() != '_') word += '_';
  }
  while (word.ends_with('_')) word.pop_back();
  return (std::filesystem::path(folder) / (kPrefix + word + ".json")).string();
}

std::vector<std::string> older_plans(const std::string& folder,
                                     const std::vector<std::string>& written) {
  std::vector<std::string> older;
  std::error_code none;  // the folder may not be readable
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    const bool is_plan = name.starts_with(kPrefix) && name.ends_with(".json");
    const std::string path = (std::filesystem::path(folder) / name).string();
    if (is_plan && std::ranges::count(written, path) == 0) older.push_back(path);
  }
  std::ranges::sort(older);
  for (std::string& path : older) path += " belongs to another run, not to this one";
  return older;
}

}  // namespace headgauge
