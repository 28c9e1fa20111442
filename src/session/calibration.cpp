#include "session/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "session/answered.hpp"
#include "session/planned.hpp"

namespace headgauge {
namespace {

constexpr std::size_t kPieces = 8;  // pieces of each text

// Returns the longest length of a scan, as the scan will resolve it.
Index longest_length(const ScanOptions& scan, const SourceInfo& source) {
  if (!scan.lengths.empty()) return std::max(2, std::ranges::max(scan.lengths));
  Index tokens = 0;
  for (const Index document : source.documents) tokens = std::max(tokens, document);
  const Index most = source.max_length > 0 ? source.max_length : source.trained_length;
  return auto_lengths(tokens, most).back();
}

}  // namespace

Calibration::Calibration(const Input& input, const ConvergeRequest& request)
    : input_(input), request_(request) {}

bool Calibration::asked() const {
  return !request_.calibrate.tolerance_nats.empty();
}

void Calibration::check(const HeadSource& source) {
  const bool confirms = !request_.confirm.empty();
  if (!asked() && !confirms && request_.tasks.empty()) return;
  if (!asked() || !confirms) {
    throw UsageError(
        fault("converge", "CalibrateOptions::tolerance_nats and ConvergeRequest::confirm together",
              asked() ? "no ConvergeRequest::confirm" : "no CalibrateOptions::tolerance_nats",
              "add CalibrateOptions::tolerance_nats = 0.01 ConvergeRequest::confirm = b.txt"));
  }
  if (!request_.plan.empty()) {
    throw UsageError(fault("CalibrateOptions::tolerance_nats", "the model as it is",
                           "ConvergeRequest::plan too", "leave one of the two out"));
  }
  if (!source.info().has_loss) {
    throw UnsupportedError(fault("CalibrateOptions::tolerance_nats", "a model with a loss",
                                 source.info().name + ", which has none",
                                 "use ConvergeOptions::tolerances, which are about the output"));
  }
  cases_ = load_cases(input_, request_.tasks, request_.options.scan.seed);
  learn_ = load_whole_documents(input_);
  unseen_ = load_whole_documents(input_.with(request_.confirm));
  if (share_tokens(learn_, unseen_)) {
    throw UsageError(fault("ConvergeRequest::confirm", "other texts than that of the budgets",
                           "some that have tokens in common with it",
                           "what is learned on a text must not be judged on it"));
  }
  require_apart(learn_, option_of(input_.texts));
  require_apart(unseen_, "ConvergeRequest::confirm");
  const Index tokens = longest_length(request_.options.scan, source.info());
  for (const auto& [texts, option] :
       {std::pair{&learn_, option_of(input_.texts)}, {&unseen_, "ConvergeRequest::confirm"}}) {
    const std::size_t pieces = spread_pieces(*texts, tokens, kPieces).size();
    if (pieces >= 2) continue;
    throw BadInputError(fault(option, fmt::format("at least 2 pieces of {} tokens", tokens),
                              fmt::format("{}", pieces),
                              "give more text, or a smaller ScanOptions::lengths"));
  }
}

void Calibration::run(Results& results, Progress* progress, const std::stop_token& stop) {
  if (!asked() || results.partial) return;
  const auto tokens = static_cast<Index>(results.coord_numbers("length").back());
  std::vector<Document> learn = spread_pieces(learn_, tokens, kPieces);
  std::vector<Document> unseen = spread_pieces(unseen_, tokens, kPieces);
  const auto learned_on = open_documents(input_, std::move(learn));
  const auto confirmed_on = open_documents(input_, std::move(unseen));
  CalibrationTexts texts{*learned_on, *confirmed_on};
  std::unique_ptr<HeadSource> learned_answers, confirmed_answers;
  if (!cases_.documents.empty()) {
    ScanOptions asked;
    asked.threads = request_.options.scan.threads;
    const Results answered = answer_cases(input_, cases_, asked, progress, stop);
    if (answered.partial) {
      results.partial = true;
      return;
    }
    std::vector<Document> odd, even;
    for (const CaseGroup& group : done_tasks(cases_, answered)) {
      const std::vector<CaseGroup> halves = halves_of(group);
      require_several(halves);
      std::ranges::copy(halves[0].cases, std::back_inserter(odd));
      std::ranges::copy(halves[1].cases, std::back_inserter(even));
    }
    learned_answers = open_documents(input_, std::move(odd));
    confirmed_answers = open_documents(input_, std::move(even));
    texts.learn_answers = learned_answers.get();
    texts.confirm_answers = confirmed_answers.get();
  }
  CalibrateOptions options = request_.calibrate;
  options.seed = request_.options.scan.seed;
  options.threads = request_.options.scan.threads;
  plans_ = calibrate_budgets(texts, options, results, progress, stop);
}

std::vector<std::string> Calibration::save(const std::string& folder) const {
  std::vector<std::string> written;
  if (folder.empty()) return written;
  for (const MadePlan& made : plans_) {
    if (std::ranges::none_of(made.plan.heads, &HeadPlan::changes)) continue;
    written.push_back(plan_file(folder, made.budget));
    write_plan(made.plan, written.back());
  }
  return written;
}

}  // namespace headgauge
