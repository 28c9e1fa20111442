// A scan's resolved options, computed once and passed on.
#pragma once

#include <memory>
#include <string>

#include "headgauge/scan.hpp"

namespace headgauge {

struct ResolvedScan {
  ScanOptions options;            // with every default filled in
  HeadIntervention intervention;  // applies to heads without a normalizer of their own
  HeadSelection selection;

  Index longest() const { return options.lengths.back(); }
  // Returns the plan at one length.
  ResolvedScan at_length(int length) const;
};

// Checks the options before work begins; throws as scan() does.
ResolvedScan resolve_scan(const ScanOptions& options, const SourceInfo& source);

// Sorts the options' lists that are sets, as resolve_scan() does.
void sort_lists(ScanOptions& options);

// Says that the model runs without the pattern or the normalizer that its heads are measured under,
// and names the comparison that runs it under that.
std::string why_no_predictions(const ScanOptions& options, const SourceInfo& source);

// Makes the measures of the plan, the caller's own last.
std::vector<std::unique_ptr<Measure>> make_measures(const ResolvedScan& plan,
                                                    const SourceInfo& source, int slots);

// Throws UsageError if the normalizer requires causal heads and the source has none.
void require_causal(const Normalizer& normalizer, const std::string& spec,
                    const SourceInfo& source);

}  // namespace headgauge
