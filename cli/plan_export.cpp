#include "cli/plan_export.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/print.hpp"
#include "cli/terminal.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {

std::vector<Option> options_of(PlanExportOptions& o) {
  return {{.member = "PlanExportOptions::plan",
           .value = &o.plan,
           .form = "FILE",
           .group = option_group::output,
           .help = "Search for nothing: export this plan, which headgauge plan wrote",
           .expects = "a file",
           .none = "none"},
          {.member = "PlanExportOptions::formats",
           .value = &o.formats,
           .form = "FORMAT,FORMAT...",
           .group = option_group::output,
           .help = "Write the plan for other tools too, into --out: duo, kvpress",
           .details = "See [plan.md](plan.md#out-of-headgauge)",
           .none = "none",
           .named = "export"}};
}

std::vector<PlanFormat> export_formats(const PlanExportOptions& options, const std::string& out) {
  std::vector<PlanFormat> formats;
  for (const std::string& name : options.formats) formats.push_back(plan_format(name, "--export"));
  if (!options.plan.empty() && formats.empty()) {
    throw UsageError(fault("--plan", "--export beside it", "none",
                           fmt::format("add --export, of {}", plan_format_names())));
  }
  if (!formats.empty() && out.empty()) {
    throw UsageError(fault("--export", "a folder to write to", "no --out", "add --out DIR"));
  }
  return formats;
}

PlanExport export_plan(const AttentionPlan& plan, const std::vector<PlanFormat>& formats,
                       const SourceInfo& source, const std::string& out) {
  PlanExport all;
  for (const PlanFormat format : formats) {
    const PlanExport one = headgauge::export_plan(plan, format, source, out);
    all.files.insert(all.files.end(), one.files.begin(), one.files.end());
    all.shares.insert(all.shares.end(), one.shares.begin(), one.shares.end());
    all.notices.insert(all.notices.end(), one.notices.begin(), one.notices.end());
  }
  return all;
}

void print_shares(const PlanExport& exported) {
  for (const std::string& share : exported.shares) print_text(share + "\n");
}

int export_existing(const PlanExportOptions& options, const RunOptions& run) {
  const std::string& out = run.output.out;
  const std::vector<PlanFormat> formats = export_formats(options, out);
  if (run.output.json) {
    throw UsageError(fault("--json", "a search, which has results", "--plan, which has none",
                           "leave one of the two out"));
  }
  require_checkpoint(run.input, "plan");
  const AttentionPlan plan = read_plan(options.plan);
  // Some text: what is asked is only whose plan it is.
  Document text;
  text.tokens = {0, 0};
  const auto source = open_documents(run.input, {text});
  make_interventions(plan, *source, options.plan);
  const PlanExport done = export_plan(plan, formats, source->info(), out);
  print_text(fmt::format("Written: {}\n", legible(fmt::format("{}", fmt::join(done.files, ", ")))));
  print_shares(done);
  flush_text();
  if (!run.output.quiet) print_notices(done.notices);
  return 0;
}

}  // namespace headgauge::cli
