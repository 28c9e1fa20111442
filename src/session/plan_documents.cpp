#include "session/plan_documents.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace headgauge {
namespace {

// A replay is at most a sixth of a piece, so that the loss of the text before it sees what a window
// of three quarters drops.
constexpr Index kLeastPieces = 6;

constexpr const char* kConfirm = "PlanRequest::confirm";

Index piece_length(const Input& input, const PlanRequest& request,
                   const std::vector<Document>& select, const std::vector<Document>& confirm) {
  const ModelSummary& model = input.model.summary();
  Index longest = request.length;
  if (longest == 0) {
    longest = longest_auto(model);
    for (const auto* texts : {&select, &confirm}) {
      // A single text must give one piece to search on and one to check on.
      const auto least = static_cast<std::size_t>(texts == &select && select.size() == 1 ? 2 : 1);
      for (const Document& text : *texts) {
        longest = std::min(longest, static_cast<Index>(text.size() / least));
      }
    }
    if (model.positions > 0) longest = std::min(longest, model.positions);
  }
  if (model.positions > 0 && longest > model.positions) {
    throw BadInputError(fault(
        "PlanRequest::length",
        fmt::format("at most {} (the longest context of {})", model.positions, input.model.name()),
        std::to_string(longest), "ask for less"));
  }
  return longest;
}

std::vector<Document> cut(const PlanRequest& request, const char* option,
                          const std::vector<Document>& texts, Index length, std::size_t least) {
  auto pieces = spread_pieces(texts, length, static_cast<std::size_t>(request.pieces));
  for (const Document& text : texts) {
    if (static_cast<Index>(text.size()) >= length) continue;
    throw BadInputError(fault(option, fmt::format("texts of at least {} tokens", length),
                              fmt::format("{} of {}", text.name, text.size()),
                              "give a longer text, or a smaller PlanRequest::length"));
  }
  if (pieces.size() >= least && length >= 2) return pieces;
  throw BadInputError(fault(
      option, fmt::format("at least {} pieces of {} tokens", least, std::max<Index>(length, 2)),
      std::to_string(pieces.size()),
      "give more text, a smaller PlanRequest::length or more PlanRequest::pieces"));
}

// Returns the number of tokens that are replayed in pieces of a length.
Index replayed_tokens(const Input& input, const PlanRequest& request, Index length) {
  if (request.replay == 0) return 0;
  if (request.replay <= kReplayCue) {
    throw UsageError(fault("PlanRequest::replay",
                           fmt::format("0, or more than {} tokens", kReplayCue),
                           std::to_string(request.replay), "replay more, or none"));
  }
  const bool fits = length >= kLeastPieces * request.replay;
  return fits && input.model.summary().causal ? request.replay : 0;
}

// Repeats the first tokens of each piece at its end.
void replay(std::vector<Document>& pieces, Index tokens) {
  for (Document& piece : pieces) {
    const std::vector<int> first(piece.tokens.begin(), piece.tokens.begin() + tokens);
    piece.tokens.insert(piece.tokens.end(), first.begin(), first.end());
    piece.texts.clear();
  }
}

// Returns the length of the pieces.
Index cut_texts(const Input& input, const PlanRequest& request, PlanPieces& pieces) {
  const auto select = load_whole_documents(input);
  const auto confirm = load_whole_documents(input.with(request.confirm));
  if (share_tokens(select, confirm)) {
    throw UsageError(fault(kConfirm, "other texts than those that are searched on",
                           "some that have tokens in common with them",
                           "what is chosen on a text must not be judged on it"));
  }
  const char* const searched = option_of(input.texts);
  require_apart(select, searched);
  require_apart(confirm, kConfirm);
  const Index length = piece_length(input, request, select, confirm);
  pieces.replayed = replayed_tokens(input, request, length);
  const auto selected = cut(request, searched, select, length - pieces.replayed, 2);
  for (std::size_t k = 0; k < selected.size(); ++k) {
    (k % 2 == 1 ? pieces.check : pieces.search).push_back(selected[k]);
  }
  pieces.confirm = cut(request, kConfirm, confirm, length - pieces.replayed, 1);
  for (auto* set : {&pieces.search, &pieces.check, &pieces.confirm}) replay(*set, pieces.replayed);
  return length;
}

std::vector<Document> without_controls(const std::vector<Document>& documents) {
  std::vector<Document> cases;
  for (const Document& one : documents) {
    if (one.answer.control_of < 0) cases.push_back(one);
  }
  return cases;
}

// Every second case of a task is for the check.
void deal_cases(const std::vector<Document>& cases, PlanPieces& pieces) {
  std::map<std::string, int> dealt;
  for (const Document& one : cases) {
    (dealt[one.answer.task]++ % 2 == 1 ? pieces.check_cases : pieces.search_cases).push_back(one);
  }
}

std::set<std::string> kinds_of(const std::vector<Document>& cases) {
  std::set<std::string> kinds;
  for (const Document& one : cases) kinds.insert(one.answer.task);
  return kinds;
}

void require_cases(const std::vector<Document>& cases, int least, const char* option,
                   const char* reason) {
  std::map<std::string, int> counts;
  for (const Document& one : cases) ++counts[one.answer.task];
  for (const auto& [task, count] : counts) {
    if (count >= least) continue;
    throw BadInputError(fault(option, fmt::format("at least {} cases of a task", least),
                              fmt::format("{} of {}", count, task),
                              fmt::format("give more: {}", reason)));
  }
}

void require_other_cases(const std::vector<Document>& select,
                         const std::vector<Document>& confirm) {
  std::set<std::vector<int>> known;
  for (const Document& one : select) known.insert(one.tokens);
  for (const Document& one : confirm) {
    if (!known.contains(one.tokens)) continue;
    throw UsageError(fault("PlanRequest::confirm_tasks",
                           "other cases than those that are searched on",
                           "a case of " + one.answer.task + " that is searched on",
                           "generate cases with another seed"));
  }
}

// Probes are as long as a piece, and stand in the texts of their set.
void load_tasks(const Input& input, const PlanRequest& request, Index length, PlanPieces& pieces) {
  Input of_set = input;
  of_set.lengths = {static_cast<int>(length)};
  const Cases select = load_cases(of_set, request.tasks, request.options.seed);
  const Cases confirm =
      load_cases(of_set.with(request.confirm), request.confirm_tasks, request.options.seed + 1);
  if (!select.documents.empty() && confirm.documents.empty()) {
    throw UsageError(fault("PlanRequest::confirm_tasks", "tasks to confirm on", "none",
                           "what is chosen on some tasks is judged on others: add them"));
  }
  const auto selected = without_controls(select.documents);
  pieces.confirm_cases = without_controls(confirm.documents);
  require_other_cases(selected, pieces.confirm_cases);
  deal_cases(selected, pieces);
  require_cases(selected, request.options.allow ? 4 : 2, "PlanRequest::tasks",
                "every second one serves as a check");
  require_cases(pieces.confirm_cases, 2, "PlanRequest::confirm_tasks",
                "one shows nothing of others");
  append_cases(select, pieces.all_cases);
  append_cases(confirm, pieces.all_cases);
  for (const Cases* one : {&select, &confirm}) {
    pieces.notices.insert(pieces.notices.end(), one->notices.begin(), one->notices.end());
  }
  const auto searched = kinds_of(selected), confirmed = kinds_of(pieces.confirm_cases);
  if (!confirmed.empty() && std::ranges::includes(searched, confirmed)) {
    pieces.notices.push_back(fmt::format(
        "the plan is confirmed on other cases of tasks that it was searched on ({}), not on "
        "other tasks",
        fmt::join(confirmed, ", ")));
  }
  if (request.replay > 0 && pieces.replayed == 0 && input.model.summary().causal) {
    pieces.notices.push_back(fmt::format(
        "pieces of {} tokens have no replay of {}, for it would take more than a sixth of them",
        length, request.replay));
  }
}

std::unique_ptr<HeadSource> open_any(const Input& input, std::vector<Document> documents) {
  return documents.empty() ? nullptr : open_documents(input, std::move(documents));
}

}  // namespace

PlanPieces cut_for_plan(const Input& input, const PlanRequest& request) {
  PlanPieces pieces;
  const Index length = cut_texts(input, request, pieces);
  load_tasks(input, request, length, pieces);
  return pieces;
}

PlanSources::PlanSources(const Input& input, PlanPieces pieces)
    : replayed_(pieces.replayed),
      search_(open_documents(input, std::move(pieces.search))),
      check_(open_documents(input, std::move(pieces.check))),
      confirm_(open_documents(input, std::move(pieces.confirm))),
      search_cases_(open_any(input, std::move(pieces.search_cases))),
      check_cases_(open_any(input, std::move(pieces.check_cases))),
      confirm_cases_(open_any(input, std::move(pieces.confirm_cases))),
      all_cases_(open_any(input, std::move(pieces.all_cases))) {}

PlanTexts PlanSources::texts() const {
  return {{*search_, search_cases_.get(), replayed_},
          {*check_, check_cases_.get(), replayed_},
          {*confirm_, confirm_cases_.get(), replayed_},
          all_cases_.get()};
}

}  // namespace headgauge
