// Session::reproduce(): the figures and claims of a paper, with a page and figures as files.
#include "headgauge/reproduce.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "headgauge/report.hpp"
#include "session/finish.hpp"

namespace headgauge {
namespace {

// Draws the page and the figures in `folder`; returns their paths.
std::vector<std::string> draw(const Results& results, const std::string& folder) {
  if (!has_report() || folder.empty()) return {};
  const auto page = (std::filesystem::path(folder) / kReportFile).string();
  write_report(results, page);
  const auto figures = (std::filesystem::path(folder) / kFiguresFolder).string();
  const MadeFolder made(figures, kOutAdvice);
  const auto drawn = write_figures(results, figures);
  return {page, fmt::format("{} ({} SVG files)", figures, drawn.size())};
}

void note_undrawn(Results& results) {
  if (has_report()) return;
  results.notices.push_back(
      "no page and no figures: this headgauge was configured with -DHEADGAUGE_REPORT=OFF");
}

// Saves the results; removes drawings of older results from the folder.
std::vector<std::string> save_and_draw(Running& running, const Results& results,
                                       const std::string& folder) {
  running.save(results);
  if (!folder.empty() && !(results.partial && finished_part(results).empty())) {
    remove_drawings(folder);
  }
  return results.partial ? std::vector<std::string>() : draw(results, folder);
}

}  // namespace

Results Session::reproduce(LimitsRequest request) {
  Running running = begin();
  Input input = this->input("reproduce limits");
  LimitsOptions& options = request.options;
  input.lengths = options.lengths;
  input.x = options.x;
  input.threads = options.threads;
  OpenedText opened = open_text(input);
  options.cut = std::move(opened.cut);
  running.start(opened.source.get());
  Results results = reproduce_limits(*opened.source, options, running.observer(), run_.stop);
  described(*opened.source);
  note_undrawn(results);
  complete(results, {input, options_of(request), "LimitsRequest::"});
  written_ = save_and_draw(running, results, run_.out);
  return results;
}

Results Session::judge_limits(const std::string& results_path) {
  Running running = begin();
  const std::string file = results_file(results_path);
  Results scanned = read_results(file);
  running.start(nullptr);
  Results results = headgauge::judge_limits(std::move(scanned), file);
  results.settings["results"] = results_path;
  note_undrawn(results);
  complete(results, {input("reproduce limits"), {}, ""});
  written_ = save_and_draw(running, results, run_.out);
  return results;
}

Results Session::simulate(SyntheticOptions options) {
  Running running = begin();
  if (!run_.out.empty()) {
    options.state = (std::filesystem::path(run_.out) / "convergence_state.json").string();
  }
  running.start(nullptr);
  Results results = headgauge::simulate(options, running.observer(), run_.stop);
  complete(results, {input("converge"), {}, ""});
  running.save(results);
  std::error_code kept;  // the measured results are saved already
  if (!results.partial) std::filesystem::remove(options.state, kept);
  return results;
}

Results Session::reproduce(TokensRequest request) {
  Running running = begin();
  Input input = this->input("reproduce tokens");
  TokensOptions& options = request.options;
  if (options.length > 0) input.lengths = {options.length};
  input.auto_advice = "leave TokensOptions::length out";
  input.threads = options.threads;
  if (!model_.empty()) options.model = [&] { return open_source(input); };
  options.folder = run_.out;
  running.start(nullptr);
  Results results = reproduce_tokens(options, running.observer(), run_.stop);
  note_undrawn(results);
  complete(results, {input, options_of(request), "TokensRequest::"});
  written_ = save_and_draw(running, results, run_.out);
  return results;
}

}  // namespace headgauge
