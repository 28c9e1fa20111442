// The changes between two results and over several, and whether limits hold.
#include "headgauge/diff.hpp"

#include "headgauge/session.hpp"
#include "heads/tool.hpp"
#include "session/finish.hpp"

namespace headgauge {
namespace {

std::vector<std::string> contents_of(std::span<const Results> all) {
  std::vector<std::string> sums;
  for (const Results& one : all) sums.push_back(text_sha256(results_text(one)));
  return sums;
}

}  // namespace

DiffResults diff(std::span<const Results> before, std::span<const Results> after,
                 const DiffRequest& request) {
  DiffResults found;
  if (!request.limits.empty()) found.limits = read_limits(request.limits);
  Results& results = found.results = diff(before, after, request.options);
  found.checks = check_limits(results, found.limits);
  for (std::size_t i = 0; i < found.limits.size(); ++i) {
    if (found.checks[i].exceeded == 0) continue;
    found.exceeded.push_back(exceeded_sentence(found.limits[i], found.checks[i]));
  }
  results.changes = list_changes(results, request.level);
  results.summary = summarize_changes(results, *results.changes);
  results.tool = describe_tool(1);
  DiffRequest written = request;
  write_own_settings(options_of(written), "DiffRequest::", results.settings);
  results.request =
      request_digest({"diff", contents_of(before), contents_of(after), written.options.metrics,
                      written.options.heads, written.level, written.limits});
  use_option_names(results);
  return found;
}

Results joined(std::span<const std::vector<Results>> runs, std::span<const std::string> names,
               SeriesOptions options) {
  Results results = series(runs, names, options);
  results.tool = describe_tool(1);
  write_own_settings(options_of(options), "SeriesOptions::", results.settings);
  nlohmann::ordered_json sums;
  for (const std::vector<Results>& run : runs) sums.push_back(contents_of(run));
  results.request = request_digest({"series", sums, options.steps, options.metrics, options.level});
  use_option_names(results);
  return results;
}

}  // namespace headgauge
