// Session::plan(): cuts the texts into pieces, makes the plan, and writes it.
#include "headgauge/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "session/finish.hpp"
#include "session/plan_documents.hpp"
#include "session/planned.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;

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
  const bool has_cases = !pieces.all_cases.empty();
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
