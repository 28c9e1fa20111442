// The options of a run and of its further inputs.
#include <algorithm>
#include <iterator>
#include <utility>

#include "headgauge/session.hpp"

namespace headgauge {
namespace {

void append(std::vector<Option>& options, std::vector<Option> more) {
  std::ranges::move(more, std::back_inserter(options));
}

Option plan_option(const char* member, std::string& plan) {
  return {.member = member,
          .value = &plan,
          .form = "FILE",
          .group = option_group::measured,
          .help = "Run the model under this plan, which headgauge plan wrote",
          .details = "See [plan.md](plan.md); a plan for another model is refused",
          .expects = "a file",
          .none = "none",
          .names_files = true};
}

// `owner`: "ScanRequest::". `alone`: the experiment can run on tasks without a text.
std::vector<Option> options_of(TaskFiles& tasks, const std::string& owner, bool alone = false) {
  return in_group(
      option_group::input,
      {{.member = owner + "tasks",
        .value = &tasks.files,
        .form = "FILE...",
        .help = std::string("Task files, whose cases the model answers beside the text") +
                (alone ? " or without one" : ""),
        .details = "Each line is a case: a prompt and its answer. See [tasks.md](tasks.md)",
        .expects = "a file",
        .none = "none",
        .names_files = true},
       {.member = owner + "probes",
        .value = &tasks.probes,
        .form = "NAME...",
        .help = "Tasks of headgauge task whose cases the run generates itself, as long as its "
                "longest length: replay, repeats ...",
        .details = "The text of the run is the haystack. See [tasks.md](tasks.md#probes)",
        .expects = "the name of a task",
        .none = "none",
        .named = "probe"},
       {.member = owner + "cases",
        .value = &tasks.cases,
        .form = "K",
        .help = "Largest number of cases of each task file, spread over the file (default 50), "
                "and number of cases of each probe (default 16)",
        .least = 1,
        .none = "auto"}});
}

}  // namespace

std::vector<Option> options_of(ScanRequest& request) {
  std::vector<Option> options = options_of(request.options);
  options.push_back(plan_option("ScanRequest::plan", request.plan));
  append(options, options_of(request.tasks, "ScanRequest::", true));
  return options;
}

std::vector<Option> options_of(CompareRequest& request) {
  std::vector<Option> options = options_of(request.options);
  append(options,
         {{.member = "CompareRequest::plans",
           .value = &request.plans,
           .form = "FILE...",
           .group = option_group::compared,
           .help = "Plans to compare with the unchanged model, which headgauge plan wrote",
           .details =
               "You may give patterns or normalizers too; `--layers` and `--heads` choose among "
               "the heads of a plan. See [plan.md](plan.md); a plan for another model is refused",
           .expects = "a file",
           .named = "plan",
           .names_files = true},
          {.member = "CompareRequest::confirm",
           .value = &request.confirm,
           .form = "FILE...",
           .group = option_group::changed,
           .help =
               "Test on this other text (ids, with --tokens) the changes that lower the loss, each "
               "alone and all together; only a change that lowers it there too is recommended",
           .details = "It must differ from the text that is measured",
           .expects = "a file"}});
  append(options, options_of(request.tasks, "CompareRequest::", true));
  return options;
}

std::vector<Option> options_of(ConvergeRequest& request) {
  std::vector<Option> options = options_of(request.options);
  options.push_back(plan_option("ConvergeRequest::plan", request.plan));
  return options;
}

std::vector<Option> options_of(ValidateRequest& request) {
  std::vector<Option> options = options_of(request.options);
  append(options, options_of(request.tasks, "ValidateRequest::", true));
  return options;
}

std::vector<Option> options_of(PlanRequest& request) {
  std::vector<Option> options = {
      {.member = "PlanRequest::confirm",
       .value = &request.confirm,
       .form = "FILE...",
       .help = "Other texts (ids, with --tokens) on which the plan is measured once, at the end",
       .details = "They may not have 64 tokens in a row in common with those that are searched on",
       .expects = "a file"},
      {.member = "PlanRequest::length",
       .value = &request.length,
       .form = "L|auto",
       .help = "Tokens of a piece of text, which is a document; auto, the default, is 1024 or as "
               "far as model and texts go",
       .least = 2,
       .none = "auto",
       .named = "lengths"},
      {.member = "PlanRequest::pieces",
       .value = &request.pieces,
       .form = "K",
       .help = "Pieces of text in the check, for each text of the search, and the largest number "
               "of pieces of each text that confirms (default {})",
       .details = "The check has at most half of the pieces of the search; the search has others, "
                  "one a step",
       .least = 1}};
  options.push_back(
      {.member = "PlanRequest::replay",
       .value = &request.replay,
       .form = "R",
       .help = "Repeat the first R tokens of each piece at its end, and judge plans by their loss "
               "too; 0: no replay (default {})",
       .details = "Pieces of fewer than 6 R tokens have none",
       .least = 0});
  append(options, options_of(request.tasks, "PlanRequest::"));
  Option& cases = find_option(options, "cases");
  cases.least = 2;  // one shows nothing of others
  cases.help =
      "Largest number of cases of each task in the check, 2 or more, but at most half of them; the "
      "search has the others (default {})";
  find_option(options, "tasks").help =
      "Task files of four cases or more, which plans are judged by too, in the search and when a "
      "plan is chosen";
  options.push_back(
      {.member = "PlanRequest::confirm_tasks",
       .value = &request.confirm_tasks.files,
       .form = "FILE...",
       .help = "Other task files, whose cases are answered once, at the end",
       .details = "Use other kinds of tasks: what holds for them was not chosen on them",
       .expects = "a file",
       .none = "none",
       .names_files = true});
  options.push_back({.member = "PlanRequest::confirm_probes",
                     .value = &request.confirm_tasks.probes,
                     .form = "NAME...",
                     .help = "Other tasks of headgauge task, whose cases the run generates in the "
                             "texts of --confirm and that are answered once, at the end",
                     .expects = "the name of a task",
                     .none = "none",
                     .named = "confirm-probe"});
  options.push_back({.member = "PlanRequest::confirm_cases",
                     .value = &request.confirm_tasks.cases,
                     .form = "K",
                     .help = "Largest number of cases of each file of --confirm-tasks (default "
                             "50), and number of cases of each probe (default 16)",
                     .least = 1,
                     .none = "auto"});
  options = in_group(option_group::input, std::move(options));
  append(options, options_of(request.options));
  options.push_back(
      {.member = "PlanRequest::formats",
       .value = &request.formats,
       .form = "FORMAT,FORMAT...",
       .group = option_group::output,
       .help = "Write the plan for other tools too, into --out: " + plan_format_names(),
       .details = "See [exports.md](exports.md)",
       .none = "none",
       .named = "export"});
  return options;
}

std::vector<Option> options_of(LimitsRequest& request) {
  std::vector<Option> options = options_of(request.options);
  append(options, options_of(request.tasks, "LimitsRequest::"));
  return options;
}

std::vector<Option> options_of(TokensRequest& request) {
  return options_of(request.options);
}

}  // namespace headgauge
