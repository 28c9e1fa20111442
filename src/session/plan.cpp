// Session::plan(): cuts the texts into pieces, makes the plan, and writes it.
#include "headgauge/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "session/finish.hpp"
#include "session/planned.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfirm = "PlanRequest::confirm";

// The texts of a plan, cut into pieces.
struct Pieces {
  std::vector<Document> search, check, confirm;
};

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

Pieces cut_texts(const Input& input, const PlanRequest& request) {
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
  Pieces pieces;
  const auto selected = cut(request, searched, select, length, 2);
  for (std::size_t k = 0; k < selected.size(); ++k) {
    (k % 2 == 1 ? pieces.check : pieces.search).push_back(selected[k]);
  }
  pieces.confirm = cut(request, kConfirm, confirm, length, 1);
  return pieces;
}

void require_texts(const Input& input, const PlanRequest& request) {
  require_checkpoint(input, "plan");
  if (input.texts.empty() || request.confirm.empty()) {
    throw UsageError(fault("plan", "texts to search on and others to confirm on",
                           input.texts.empty() ? kNoTexts : "no PlanRequest::confirm",
                           "add text_files() a.txt PlanRequest::confirm = b.txt c.txt"));
  }
}

// Describes what measured losses depend on. The options of the search are no part of it.
Results described(const PlanTexts& texts) {
  Results all = described(texts.search);
  const auto without_names = [](TextRecord text) {
    text.names.clear();
    return to_json(text);
  };
  const auto search = without_names(all.text);
  all.text = {.others = {{"search", search},
                         {"check", without_names(described(texts.check).text)},
                         {"confirm", without_names(described(texts.confirm).text)}}};
  return all;
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
                       const SourceInfo& source, const std::string& folder) {
  PlanExport all;
  for (const PlanFormat format : formats) {
    const PlanExport one = export_plan(plan, format, source, folder);
    all.files.insert(all.files.end(), one.files.begin(), one.files.end());
    all.shares.insert(all.shares.end(), one.shares.begin(), one.shares.end());
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
  Pieces pieces = cut_texts(input, request);
  const auto search = open_documents(input, std::move(pieces.search));
  const auto check = open_documents(input, std::move(pieces.check));
  const auto confirm = open_documents(input, std::move(pieces.confirm));
  const std::vector<std::string> untried =
      keep_exportable(request.options, formats, confirm->info());
  const PlanTexts texts{*search, *check, *confirm};
  request.options.journal = running.open_journal(
      {.experiment = "plan", .model = model_, .texts = texts_, .options = {}, .has_shards = false},
      described(texts));
  running.start(confirm.get());
  PlanResults made = running.measure([&] {
    PlanResults found = make_plan(texts, request.options, running.observer(), run_.stop);
    if (found.results.partial) return found;
    found.results.notices.insert(found.results.notices.end(), untried.begin(), untried.end());
    complete(found.results, {input, options_of(request), "PlanRequest::", summarize_plan});
    return found;
  });
  running.save(made.results, [&] {
    if (made.results.partial || run_.out.empty()) return;
    for (const MadePlan& one : made.plans) {
      written_.push_back(written_.empty() ? (fs::path(run_.out) / "plan.json").string()
                                          : plan_file(run_.out, one.budget));
      write_plan(one.plan, written_.back());
    }
    made.exported = export_plan(made.plans.front().plan, formats, confirm->info(), run_.out);
    written_.insert(written_.end(), made.exported.files.begin(), made.exported.files.end());
    remarks_ = made.exported.notices;
    for (std::string& line : older_plans(run_.out, written_)) remarks_.push_back(std::move(line));
  });
  if (made.results.partial) throw InterruptedError(interruption(made.results, run_));
  return made;
}

PlanExport export_plan(const Model& model, const std::string& file,
                       const std::vector<std::string>& formats, const std::string& folder) {
  const std::vector<PlanFormat> known = plan_formats(formats);
  const Input input{.model = model, .texts = {}};
  require_checkpoint(input, "plan");
  const AttentionPlan plan = read_plan(file);
  // Any text works: only the model decides whether the plan fits.
  Document text;
  text.tokens = {0, 0};
  const auto source = open_documents(input, {text});
  make_interventions(plan, *source, file);
  return export_plan(plan, known, source->info(), folder);
}

}  // namespace headgauge
