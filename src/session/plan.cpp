// Session::plan(): cuts the texts into pieces, makes the plan, and writes it.
#include "headgauge/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "session/finish.hpp"
#include "session/input.hpp"
#include "session/planned.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;

// The texts cut into pieces, and the cases dealt out. The replay is part of the pieces.
struct PlanPieces {
  std::vector<Document> search, check, confirm;
  Index replayed = 0;  // tokens at the end of each piece that repeat its first
  std::vector<Document> search_cases, check_cases, confirm_cases;
  std::vector<Document> tested_cases;  // of check and confirm, with their controls
  std::vector<std::string> notices;
};

// Opens what cut_for_plan() returned.
class PlanSources {
 public:
  PlanSources(const Input& input, PlanPieces pieces);
  PlanTexts texts() const;

 private:
  using Source = std::unique_ptr<HeadSource>;  // null: no documents
  Index replayed_;
  Source search_, check_, confirm_;
  Source search_cases_, check_cases_, confirm_cases_, tested_cases_;
};

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

std::vector<Document> cut(const char* option, const std::vector<Document>& texts, Index length,
                          std::size_t least, std::size_t most) {
  auto pieces = spread_pieces(texts, length, most);
  for (const Document& text : texts) {
    if (static_cast<Index>(text.size()) >= length) continue;
    throw BadInputError(fault(option, fmt::format("texts of at least {} tokens", length),
                              fmt::format("{} of {}", text.name, text.size()),
                              "give a longer text, or a smaller PlanRequest::length"));
  }
  if (pieces.size() >= least && length >= 2) return pieces;
  throw BadInputError(fault(
      option, fmt::format("at least {} pieces of {} tokens", least, std::max<Index>(length, 2)),
      std::to_string(pieces.size()), "give more text, or a smaller PlanRequest::length"));
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

// Deals documents of one kind out to search and check, each spread over them. The check, which is
// measured whole, has at most `checked` and at most half; the search runs one a step.
void deal(const std::vector<Document>& documents, std::size_t checked,
          std::vector<Document>& search, std::vector<Document>& check) {
  const std::size_t count = documents.size();
  checked = std::min(checked, count / 2);
  for (std::size_t k = 0; k < count; ++k) {
    const bool is_check = (k + 1) * checked / count > k * checked / count;
    (is_check ? check : search).push_back(documents[k]);
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
  const Index read = length - pieces.replayed;
  const std::size_t of_each = static_cast<std::size_t>(request.pieces), texts = select.size();
  const std::size_t for_steps =
      (static_cast<std::size_t>(request.options.steps) + texts - 1) / texts;
  deal(cut(searched, select, read, 2, of_each + for_steps), texts * of_each, pieces.search,
       pieces.check);
  pieces.confirm = cut(kConfirm, confirm, read, 1, of_each);
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

void deal_cases(const std::vector<Document>& cases, int checked, PlanPieces& pieces) {
  std::map<std::string, std::vector<Document>> of_tasks;
  for (const Document& one : cases) of_tasks[one.answer.task].push_back(one);
  for (const auto& [task, of_task] : of_tasks) {
    deal(of_task, static_cast<std::size_t>(checked), pieces.search_cases, pieces.check_cases);
  }
}

// Returns those of the cases that are in `kept`, with their controls.
Cases with_controls(const Cases& cases, const std::vector<Document>& kept) {
  std::set<std::pair<std::string, std::vector<int>>> wanted;
  for (const Document& one : kept) wanted.insert({one.answer.task, one.tokens});
  Cases some;
  std::map<int, int> places;  // from those of all cases
  for (int k = 0; k < std::ssize(cases.documents); ++k) {
    Document one = cases.documents[static_cast<std::size_t>(k)];
    int& of = one.answer.control_of;
    if (of < 0 ? !wanted.contains({one.answer.task, one.tokens}) : !places.contains(of)) continue;
    if (of >= 0) of = places.at(of);
    places[k] = static_cast<int>(std::ssize(some.documents));
    some.documents.push_back(std::move(one));
  }
  return some;
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
  const int checked = request.tasks.cases > 0 ? request.tasks.cases : PlanRequest().tasks.cases;
  TaskFiles tasks = request.tasks;
  tasks.cases = static_cast<int>(
      std::min<Index>(Index{checked} + request.options.steps, std::numeric_limits<int>::max()));
  const Cases select = load_cases(of_set, tasks, request.options.seed);
  const Cases confirm =
      load_cases(of_set.with(request.confirm), request.confirm_tasks, request.options.seed + 1);
  if (!select.documents.empty() && confirm.documents.empty()) {
    throw UsageError(fault("PlanRequest::confirm_tasks", "tasks to confirm on", "none",
                           "what is chosen on some tasks is judged on others: add them"));
  }
  const auto selected = without_controls(select.documents);
  pieces.confirm_cases = without_controls(confirm.documents);
  require_other_cases(selected, pieces.confirm_cases);
  deal_cases(selected, checked, pieces);
  require_cases(selected, 4, "PlanRequest::tasks", "some serve as a check");
  require_cases(pieces.confirm_cases, 2, "PlanRequest::confirm_tasks",
                "one shows nothing of others");
  append_cases(with_controls(select, pieces.check_cases), pieces.tested_cases);
  append_cases(confirm, pieces.tested_cases);
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
      tested_cases_(open_any(input, std::move(pieces.tested_cases))) {}

PlanTexts PlanSources::texts() const {
  return {{*search_, search_cases_.get(), replayed_},
          {*check_, check_cases_.get(), replayed_},
          {*confirm_, confirm_cases_.get(), replayed_},
          tested_cases_.get()};
}

void require_texts(const Input& input, const PlanRequest& request) {
  require_checkpoint(input, "plan");
  if (input.texts.empty() || request.confirm.empty()) {
    throw UsageError(fault("plan", "texts to search on and others to confirm on",
                           input.texts.empty() ? kNoTexts : "no PlanRequest::confirm",
                           "add text_files() a.txt PlanRequest::confirm = b.txt c.txt"));
  }
}

// Describes what measured losses depend on. The options of the search are no part of it, but its
// texts are, which are more for more steps.
Results described(const PlanTexts& texts) {
  Results all = described(texts.search.texts);
  const auto without_names = [](TextRecord text) {
    text.names.clear();
    for (TaskRecord& task : text.tasks) task.name.clear();
    return to_json(text);
  };
  const auto search = without_names(all.text);
  all.text = {.others = {{"search", search},
                         {"check", without_names(described(texts.check.texts).text)},
                         {"confirm", without_names(described(texts.confirm.texts).text)},
                         {"replay", texts.search.replayed}}};
  for (const auto& [name, documents] :
       {std::pair{"search", &texts.search}, {"check", &texts.check}, {"confirm", &texts.confirm}}) {
    if (documents->cases == nullptr) continue;
    all.text.others[name + std::string(" cases")] =
        without_names(described(*documents->cases).text);
  }
  return all;
}

// Null for a live model.
const Checkpoint* files_of(const Model& model) {
  return model.has_name() ? &model.checkpoint() : nullptr;
}

}  // namespace

std::vector<PlanFormat> plan_formats(const std::vector<std::string>& names) {
  std::vector<PlanFormat> formats;
  for (const std::string& name : names) {
    formats.push_back(plan_format(name, "PlanRequest::formats"));
  }
  return formats;
}

PlanExport export_plan(const AttentionPlan& plan, const std::vector<PlanFormat>& formats,
                       const SourceInfo& source, const std::string& folder,
                       const Checkpoint* checkpoint, const std::stop_token& stop,
                       std::vector<std::string> saved = {}) {
  require_exportable(formats, source, checkpoint, folder);
  PlanExport all;
  for (const PlanFormat format : formats) {
    PlanExport one;
    try {
      one = export_plan(plan, format, source, folder, checkpoint, stop);
    } catch (const InterruptedError&) {
      throw InterruptedError(
          fmt::format("interrupted; saved: {}; nothing else was changed",
                      saved.empty() ? "nothing" : fmt::to_string(fmt::join(saved, ", "))));
    }
    saved.insert(saved.end(), one.files.begin(), one.files.end());
    all.files.insert(all.files.end(), one.files.begin(), one.files.end());
    all.notices.insert(all.notices.end(), one.notices.begin(), one.notices.end());
  }
  return all;
}

PlanResults Session::plan(PlanRequest request) {
  Input input = this->input("plan");
  input.threads = request.options.threads;
  require_texts(input, request);
  if (!request.formats.empty() && run_.out.empty()) {
    throw UsageError(
        fault("PlanRequest::formats", "a folder to write to", "no Run::out", "add Run::out = DIR"));
  }
  Running running = begin();
  const auto formats = plan_formats(request.formats);
  PlanPieces pieces = cut_for_plan(input, request);
  std::vector<std::string> notices = std::move(pieces.notices);
  const bool has_cases = !pieces.tested_cases.empty();
  const PlanSources sources(input, std::move(pieces));
  const PlanTexts texts = sources.texts();
  HeadSource& confirm = texts.confirm.texts;
  if (has_cases && !confirm.info().has_loss) {
    throw UnsupportedError(fault("tasks", "a model that predicts next tokens", confirm.info().name,
                                 "leave the tasks out"));
  }
  require_exportable(formats, confirm.info(), files_of(model_), run_.out);
  const std::vector<std::string> untried =
      keep_exportable(request.options, formats, confirm.info());
  notices.insert(notices.end(), untried.begin(), untried.end());
  const Results losses = described(texts);
  running.claim({"plan", model_, texts_, options_of(request)}, losses);
  request.options.journal = running.open_journal(
      {.experiment = "plan", .model = model_, .texts = texts_, .options = {}, .has_shards = false},
      losses);
  running.start(&confirm);
  const std::string file = (fs::path(run_.out) / "plan.json").string();
  PlanResults made = running.measure([&] {
    PlanResults found = make_plan(texts, request.options, running.observer(), run_.stop);
    if (found.results.partial) return found;
    found.results.notices.insert(found.results.notices.end(), notices.begin(), notices.end());
    if (!run_.out.empty()) found.results.settings["plan_file"] = file;
    complete(found.results, {input, options_of(request), "PlanRequest::", summarize_plan});
    return found;
  });
  running.save(made.results, [&] {
    if (made.results.partial || run_.out.empty()) return;
    for (const MadePlan& one : made.plans) {
      written_.push_back(written_.empty() ? file : plan_file(run_.out, one.budget));
      write_plan(one.plan, written_.back());
    }
    std::vector<std::string> saved = {(fs::path(run_.out) / "results.json").string()};
    saved.insert(saved.end(), written_.begin(), written_.end());
    PlanExport exported = export_plan(made.plans.front().plan, formats, confirm.info(), run_.out,
                                      files_of(model_), run_.stop, saved);
    written_.insert(written_.end(), exported.files.begin(), exported.files.end());
    remarks_ = std::move(exported.notices);
    for (std::string& line : older_plans(run_.out, written_)) remarks_.push_back(std::move(line));
  });
  if (made.results.partial) throw InterruptedError(interruption(made.results, run_));
  return made;
}

PlanExport export_plan(const Model& model, const std::string& file,
                       const std::vector<std::string>& formats, const std::string& folder,
                       const std::stop_token& stop) {
  const std::vector<PlanFormat> known = plan_formats(formats);
  const Input input{.model = model, .texts = {}};
  require_checkpoint(input, "plan");
  require_unread(folder, files_read(model, text_files({file}), {}), formats);
  const AttentionPlan plan = read_plan(file);
  // Any text works: only the model decides whether the plan fits.
  Document text;
  text.tokens = {0, 0};
  const auto source = open_documents(input, {text});
  make_interventions(plan, *source, file);
  return export_plan(plan, known, source->info(), folder, files_of(model), stop);
}

}  // namespace headgauge
