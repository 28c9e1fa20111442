// Session::reproduce(): the figures and claims of a paper, with a page and figures as files.
#include "headgauge/reproduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "convergence/resolved_simulation.hpp"
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
  const auto drawn = write_drawings(draw_figures(results), figures);
  return {page, fmt::format("{} ({} SVG files)", figures, drawn.size())};
}

void note_undrawn(Results& results) {
  if (has_report()) return;
  results.notices.push_back(
      "no page and no figures: this headgauge was configured with -DHEADGAUGE_REPORT=OFF");
}

std::vector<std::string> save_and_draw(Running& running, Results& results,
                                       const std::string& folder) {
  std::vector<std::string> drawn;
  running.save(results, [&] {
    if (!results.partial) drawn = draw(results, folder);
  });
  return drawn;
}

}  // namespace

Results Session::reproduce(LimitsRequest request) {
  Running running = begin();
  running.require_no_shard("reproduce limits");
  Input input = this->input("reproduce limits");
  LimitsOptions& options = request.options;
  input.lengths = options.lengths;
  input.x = options.x;
  input.threads = options.threads;
  Cases cases = load_cases(input, request.tasks, options.seed);
  OpenedText opened = open_text(input);
  cases.require_loss(opened.source->info());
  const SourceInfo& info = opened.source->info();
  if (cases.documents.empty() && info.has_loss) {
    const Index longest =
        options.lengths.empty() ? kPaperLength : std::ranges::max(options.lengths);
    cases = own_cases(input, std::min(longest, info.documents.front()), options.seed);
  }
  input.cases.notices = cases.notices;
  if (!cases.documents.empty()) {
    options.answers = [&] { return open_documents(input, cases.documents); };
    options.cases.count = static_cast<std::size_t>(std::ranges::count_if(
        cases.documents, [](const Document& one) { return one.answer.control_of < 0; }));
    // The cases come before their controls.
    options.cases.open = [&](std::size_t c) { return open_documents(input, {cases.documents[c]}); };
  }
  options.cut = std::move(opened.cut);
  running.claim({"reproduce limits", model_, texts_, options_of(request)},
                described(*opened.source));
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
  running.require_no_shard("reproduce limits");
  const std::string file = results_file(results_path);
  Results scanned = read_results(file);
  Results judged;
  judged.text.others["results"] = file_sha256(file);
  require_unread_results(run_.out, {results_path});
  running.claim({"reproduce limits", model_, texts_, {}}, judged);
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
  SyntheticOptions recorded = resolve_simulation(options).options;
  options.journal = running.open_journal({.experiment = "converge --synthetic",
                                          .model = model_,
                                          .texts = texts_,
                                          .options = options_of(recorded),
                                          .has_shards = false},
                                         {});
  running.start(nullptr);
  Results results = running.measure([&] {
    Results simulated = headgauge::simulate(options, running.observer(), run_.stop);
    complete(simulated, {input("converge"), {}, ""});
    return simulated;
  });
  running.save(results);
  return results;
}

Results Session::reproduce(TokensRequest request) {
  Running running = begin();
  Input input = this->input("reproduce tokens");
  TokensOptions& options = request.options;
  if (options.length > 0) input.lengths = {options.length};
  input.auto_advice = "leave TokensOptions::length out";
  input.threads = options.threads;
  Results described;
  if (!model_.empty()) {
    const std::shared_ptr<HeadSource> source = open_source(input);
    described = headgauge::described(*source);
    options.model = [source] { return source; };
  }
  options.folder = run_.out;
  options.journal = running.open_journal({.experiment = "reproduce tokens",
                                          .model = model_,
                                          .texts = texts_,
                                          .options = options_of(request),
                                          .has_shards = false},
                                         described);
  running.start(nullptr);
  Results results = running.measure([&] {
    Results reproduced = reproduce_tokens(options, running.observer(), run_.stop);
    note_undrawn(reproduced);
    complete(reproduced, {input, options_of(request), "TokensRequest::"});
    return reproduced;
  });
  written_ = save_and_draw(running, results, run_.out);
  return results;
}

}  // namespace headgauge
