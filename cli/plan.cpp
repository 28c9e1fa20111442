// headgauge plan: what each head may attend by, searched for on some texts and shown on others.
#include "headgauge/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/host.hpp"
#include "cli/named_model.hpp"
#include "cli/options.hpp"
#include "cli/out_folder.hpp"
#include "cli/plan_export.hpp"
#include "cli/plan_table.hpp"
#include "cli/planned.hpp"
#include "cli/run.hpp"
#include "cli/terminal.hpp"

namespace headgauge::cli {
namespace {

struct PlanCommand {
  RunOptions run;
  PlanOptions plan;
  PlanExportOptions exported;
  std::vector<std::string> confirm;
  int length = 0;
  int pieces = 4;
};

std::vector<Option> texts_of(PlanCommand& o) {
  std::vector<Option> options = options_of(o.run.input);
  find_option(options, "text").help = "UTF-8 texts that the plan is searched for on";
  find_option(options, "text").details =
      "Every second piece takes no part in the search: it chooses among what the search found";
  options.insert(
      options.end(),
      {{.member = "PlanCommand::confirm",
        .value = &o.confirm,
        .form = "FILE...",
        .group = option_group::input,
        .help = "Other texts (ids, with --tokens) that the plan is measured on once, at the end",
        .details = "They may not have 64 tokens in a row in common with those that are searched on",
        .expects = "a file"},
       {.member = "PlanCommand::length",
        .value = &o.length,
        .form = "L|auto",
        .group = option_group::input,
        .help = "Tokens of a piece of text, which is a document; auto, the default, is 1024 or as "
                "far as model and texts go",
        .least = 2,
        .none = "auto",
        .named = "lengths"},
       {.member = "PlanCommand::pieces",
        .value = &o.pieces,
        .form = "K",
        .group = option_group::input,
        .help = "At most so many pieces of each text, spread over it (default {})",
        .least = 1}});
  return options;
}

// The texts of a plan, cut into pieces.
struct Pieces {
  std::vector<Document> search, check, confirm;
};

Index piece_length(const PlanCommand& command, const std::vector<Document>& select,
                   const std::vector<Document>& confirm) {
  const ModelSummary model = NamedModel(command.run.input.model).summary();
  Index longest = command.length;
  if (longest == 0) {
    longest = longest_auto(model);
    for (const auto* texts : {&select, &confirm}) {
      // One text alone has to give a piece to search and one to check.
      const auto least = static_cast<std::size_t>(texts == &select && select.size() == 1 ? 2 : 1);
      for (const Document& text : *texts) {
        longest = std::min(longest, static_cast<Index>(text.size() / least));
      }
    }
    if (model.positions > 0) longest = std::min(longest, model.positions);
  }
  if (model.positions > 0 && longest > model.positions) {
    throw BadInputError(fault("--lengths",
                              fmt::format("at most {} (the longest context of {})", model.positions,
                                          command.run.input.model),
                              std::to_string(longest), "ask for less"));
  }
  return longest;
}

std::vector<Document> cut(const PlanCommand& command, const char* option,
                          const std::vector<Document>& texts, Index length, std::size_t least) {
  auto pieces = spread_pieces(texts, length, static_cast<std::size_t>(command.pieces));
  for (const Document& text : texts) {
    if (static_cast<Index>(text.size()) >= length) continue;
    throw BadInputError(fault(option, fmt::format("texts of at least {} tokens", length),
                              fmt::format("{} of {}", text.name, text.size()),
                              "give a longer text, or a smaller --lengths"));
  }
  if (pieces.size() >= least && length >= 2) return pieces;
  throw BadInputError(fault(
      option, fmt::format("at least {} pieces of {} tokens", least, std::max<Index>(length, 2)),
      std::to_string(pieces.size()), "give more text, a smaller --lengths or more --pieces"));
}

Pieces cut_texts(const PlanCommand& command) {
  const auto select = load_whole_documents(command.run.input);
  const auto confirm = load_whole_documents(with_files(command.run.input, command.confirm));
  if (share_tokens(select, confirm)) {
    throw UsageError(fault("--confirm", "other texts than those that are searched on",
                           "some that have tokens in common with them",
                           "what is chosen on a text must not be judged on it"));
  }
  const char* const searched = command.run.input.texts.empty() ? "--tokens" : "--text";
  require_apart(select, searched);
  require_apart(confirm, "--confirm");
  const Index length = piece_length(command, select, confirm);
  Pieces pieces;
  const auto selected = cut(command, searched, select, length, 2);
  for (std::size_t k = 0; k < selected.size(); ++k) {
    (k % 2 == 1 ? pieces.check : pieces.search).push_back(selected[k]);
  }
  pieces.confirm = cut(command, "--confirm", confirm, length, 1);
  return pieces;
}

void require_texts(const PlanCommand& command) {
  require_checkpoint(command.run.input, "plan");
  const bool has_text = command.run.input.has_text();
  if (!has_text || command.confirm.empty()) {
    throw UsageError(fault("plan", "texts to search on and others to confirm on",
                           has_text ? "no --confirm" : "neither --text nor --tokens",
                           "add --text a.txt --confirm b.txt c.txt"));
  }
  if (command.run.output.out.empty()) {
    throw UsageError(fault("plan", "a folder to keep the plan in", "no --out", "add --out DIR"));
  }
}

int run(PlanCommand& command) {
  InputOptions& input = command.run.input;
  input.threads = command.plan.threads;
  input.asked_by = "plan";
  const std::string& out = command.run.output.out;
  if (!command.exported.plan.empty()) {
    if (!input.has_text() && command.confirm.empty()) {
      return export_existing(command.exported, command.run);
    }
    throw UsageError(fault("--plan", "a plan and no texts",
                           "--text, --tokens or --confirm beside it",
                           "leave them out, or --plan to search for another plan"));
  }
  require_texts(command);
  command.plan.state = (std::filesystem::path(out) / "plan_state.json").string();
  const auto formats = export_formats(command.exported, out);
  std::vector<std::string> notices;  // of the exports
  PlanExport done;
  SourceInfo info;
  std::vector<MadePlan> plans;
  Pieces pieces;
  RunSteps steps;
  steps.load = [&] { pieces = cut_texts(command); };
  steps.simulate = [&](Progress* progress, std::stop_token stop) {
    const auto search = open_documents(input, std::move(pieces.search));
    const auto check = open_documents(input, std::move(pieces.check));
    const auto confirm = open_documents(input, std::move(pieces.confirm));
    info = confirm->info();
    notices = keep_exportable(command.plan, formats, info);
    PlanResults made = make_plan({*search, *check, *confirm}, command.plan, progress, stop);
    if (made.results.partial) {
      throw InterruptedError(
          !std::filesystem::exists(command.plan.state)
              ? "interrupted before anything was finished; nothing was saved"
              : fmt::format("interrupted; the losses measured are in {}: the same command "
                            "goes on from there",
                            command.plan.state));
    }
    plans = std::move(made.plans);
    return std::move(made.results);
  };
  steps.complete = [&](Results& results) {
    write_settings(texts_of(command), results.settings);
    write_settings(only(options_of(command.exported), {"export"}), results.settings);
    results.notices.insert(results.notices.end(), notices.begin(), notices.end());
    notices.clear();
  };
  steps.summarize = summarize_plan;
  steps.table = render_plan;
  steps.finished = [](const Results&) { return std::string(); };
  steps.saved = [&](const Results&) {
    std::vector<std::string> written;
    for (const MadePlan& made : plans) {
      written.push_back(written.empty() ? (std::filesystem::path(out) / "plan.json").string()
                                        : plan_file(out, made.budget));
      write_plan(made.plan, written.back());
    }
    std::error_code none;  // a state that stays is that of a run which is done, and harmless
    std::filesystem::remove(command.plan.state, none);
    done = export_plan(plans.front().plan, formats, info, out);
    written.insert(written.end(), done.files.begin(), done.files.end());
    notices.insert(notices.end(), done.notices.begin(), done.notices.end());
    for (std::string& notice : older_plans(out, written)) notices.push_back(std::move(notice));
    return written;
  };
  const int code = run_measurement(command.run, steps);
  if (!command.run.output.json && host() == nullptr) print_shares(done);
  if (!command.run.output.quiet) print_notices(notices);
  return code;
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("plan", "Find what each head may attend by, proven on other text");
  auto options = std::make_shared<PlanCommand>();
  options->run.input.add_model(*command);
  add_options(*command, texts_of(*options));
  add_options(*command, options_of(options->plan));
  add_options(*command, options_of(options->run.output));
  add_options(*command, options_of(options->exported));
  command->footer(
      "Example: headgauge plan demo/model --text a.txt b.txt --confirm c.txt d.txt --out plan\n"
      "         headgauge plan gpt2 --text a.txt --confirm b.txt --allow 0.01 --out plan\n"
      "         headgauge scan gpt2 --text c.txt --plan plan/plan.json\n"
      "         headgauge plan llama --plan plan/plan.json --export duo,kvpress --out plan");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
