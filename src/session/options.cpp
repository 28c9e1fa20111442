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

// `owner`: "ScanRequest::".
std::vector<Option> options_of(TaskFiles& tasks, const std::string& owner) {
  return {{.member = owner + "tasks",
           .value = &tasks.files,
           .form = "FILE...",
           .group = option_group::input,
           .help = "Task files, whose cases the model answers beside the text or without one",
           .details = "Each line is a case: a prompt and its answer. See [tasks.md](tasks.md)",
           .expects = "a file",
           .none = "none",
           .names_files = true},
          {.member = owner + "cases",
           .value = &tasks.cases,
           .form = "K",
           .group = option_group::input,
           .help = "Largest number of cases of each task file, spread over the file (default {})",
           .least = 1}};
}

}  // namespace

std::vector<Option> options_of(ScanRequest& request) {
  std::vector<Option> options = options_of(request.options);
  options.push_back(plan_option("ScanRequest::plan", request.plan));
  append(options, options_of(request.tasks, "ScanRequest::"));
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
          {.member = "CompareRequest::fit",
           .value = &request.fit,
           .form = "FILE...",
           .group = option_group::changed,
           .help = "Choose the parameter of each normalizer, head by head, that changes the head's "
                   "output least on this other text (ids, with --tokens)",
           .details = "The normalizers are then measured on the other text; the two must differ. A "
                      "given parameter is kept, and a normalizer without a parameter is not "
                      "fitted; a notice says so",
           .expects = "a file"},
          {.member = "CompareRequest::confirm",
           .value = &request.confirm,
           .form = "FILE...",
           .group = option_group::changed,
           .help =
               "Test on this other text (ids, with --tokens) the changes that lower the loss, each "
               "alone and all together; only a change that lowers it there too is recommended",
           .details = "It must differ from the text that is measured and from that of `--fit`",
           .expects = "a file"}});
  append(options, options_of(request.tasks, "CompareRequest::"));
  return options;
}

std::vector<Option> options_of(ConvergeRequest& request) {
  std::vector<Option> options = options_of(request.options);
  options.push_back(plan_option("ConvergeRequest::plan", request.plan));
  append(options, options_of(request.calibrate));
  options.push_back(
      {.member = "ConvergeRequest::confirm",
       .value = &request.confirm,
       .form = "FILE...",
       .group = option_group::input,
       .help = "Other texts on which the budgets for a rise of the loss are measured once",
       .details = "They may not have 64 tokens in a row in common with the text",
       .expects = "a file",
       .none = "none"});
  append(options, options_of(request.tasks, "ConvergeRequest::"));
  return options;
}

std::vector<Option> options_of(ValidateRequest& request) {
  std::vector<Option> options = options_of(request.options);
  append(options, options_of(request.tasks, "ValidateRequest::"));
  return options;
}

std::vector<Option> options_of(PlanRequest& request) {
  std::vector<Option> options = {
      {.member = "PlanRequest::confirm",
       .value = &request.confirm,
       .form = "FILE...",
       .group = option_group::input,
       .help = "Other texts (ids, with --tokens) on which the plan is measured once, at the end",
       .details = "They may not have 64 tokens in a row in common with those that are searched on",
       .expects = "a file"},
      {.member = "PlanRequest::length",
       .value = &request.length,
       .form = "L|auto",
       .group = option_group::input,
       .help = "Tokens of a piece of text, which is a document; auto, the default, is 1024 or as "
               "far as model and texts go",
       .least = 2,
       .none = "auto",
       .named = "lengths"},
      {.member = "PlanRequest::pieces",
       .value = &request.pieces,
       .form = "K",
       .group = option_group::input,
       .help = "Largest number of pieces of each text, spread over the text (default {})",
       .least = 1}};
  append(options, options_of(request.options));
  options.push_back(
      {.member = "PlanRequest::formats",
       .value = &request.formats,
       .form = "FORMAT,FORMAT...",
       .group = option_group::output,
       .help = "Write the plan for other tools too, into --out: " + plan_format_names(),
       .details = "See [plan.md](plan.md#out-of-headgauge)",
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
