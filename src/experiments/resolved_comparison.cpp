#include "experiments/resolved_comparison.hpp"

#include <algorithm>

#include "headgauge/normalize.hpp"
#include "headgauge/patterns.hpp"

namespace headgauge {
namespace {

void check_interventions(const CompareOptions& options, std::span<const Intervention> interventions,
                         const SourceInfo& source) {
  const ScanOptions& scan = options.scan;
  if (scan.normalizer != "softmax" || scan.own_normalizer != nullptr || scan.pattern != "none" ||
      scan.own_pattern != nullptr) {
    throw UsageError(fault("compare", "a scan of the model as it is",
                           scan.normalizer != "softmax" ? scan.normalizer : scan.pattern,
                           "name it among the interventions"));
  }
  if (interventions.empty()) {
    throw UsageError(
        fault("compare", "interventions", "none",
              "make some with CompareOptions::normalizers or CompareOptions::patterns"));
  }
  for (const Intervention& intervention : interventions) {
    if (intervention.heads.empty()) {
      throw UsageError(fault(intervention.label, "an intervention for each head", "none",
                             "see make_interventions()"));
    }
    require_all_heads(intervention.heads, source);
  }
}

// Returns whether the text of the tokens is known, and short enough to be written by default.
bool has_few_texts(const SourceInfo& source) {
  Index texts = 0;
  for (Index d = 0; d < std::ssize(source.documents); ++d) texts += source.is_text(d) ? 1 : 0;
  return source.has_texts && texts <= static_cast<Index>(kDocumentsWithExamples);
}

}  // namespace

const char* dimension_of(std::span<const Intervention> interventions) {
  const auto pattern = [](const HeadIntervention& of_head) { return of_head.pattern != nullptr; };
  return std::ranges::any_of(interventions,
                             [&](const Intervention& intervention) {
                               return std::ranges::any_of(intervention.heads, pattern);
                             })
             ? "pattern"
             : "normalizer";
}

int kept_tokens(const CompareOptions& options, const SourceInfo& source) {
  if (options.each != Each::none || !source.has_loss) return 0;
  return options.scan.examples.value_or(has_few_texts(source) ? kUsualTokenLosses : 0);
}

ResolvedScan resolve_comparison(const CompareOptions& options,
                                std::span<const Intervention> interventions,
                                const SourceInfo& source) {
  check_interventions(options, interventions, source);
  ScanOptions scan = options.scan;
  scan.layers.clear();
  scan.heads.clear();
  if (!scan.measures.empty() && source.has_loss && !std::ranges::count(scan.measures, "model")) {
    scan.measures.emplace_back("model");
  }
  // A metric that is measured on a sample of rows under one intervention uses the same rows for
  // all.
  for (const Intervention& intervention : interventions) {
    for (const HeadIntervention& of_head : intervention.heads) {
      if (of_head.normalizer != nullptr && !of_head.normalizer->softmax_scale({2, 1})) {
        scan.measure.sampled_sensitivity = true;
      }
    }
  }
  scan.examples = kept_tokens(options, source);
  ResolvedScan resolved = resolve_scan(scan, source);
  Index longest = resolved.longest();
  for (Index d = 0; d < std::ssize(source.documents); ++d) {
    if (!source.is_text(d)) longest = std::max(longest, source.documents[d]);
  }
  for (const std::string& pattern : options.patterns) {
    require_dropped_keys(pattern, "CompareOptions::patterns", source, longest);
  }
  return resolved;
}

}  // namespace headgauge
