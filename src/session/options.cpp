// The options of a run and of its further inputs.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "headgauge/session.hpp"

namespace headgauge {
namespace {

void append(std::vector<Option>& options, std::vector<Option> more) {
  std::ranges::move(more, std::back_inserter(options));
}

// `owner`: "ScanRequest::".
std::vector<Option> options_of(TaskFiles& tasks, const std::string& owner) {
  return declared_options({{owner + "tasks", &tasks.files},
                           {owner + "probes", &tasks.probes},
                           {owner + "cases", &tasks.cases}});
}

}  // namespace

std::vector<Option> options_of(ScanRequest& request) {
  std::vector<Option> options = options_of(request.options);
  append(options, declared_options({{"ScanRequest::plan", &request.plan}}));
  append(options, options_of(request.tasks, "ScanRequest::"));
  return options;
}

std::vector<Option> options_of(CompareRequest& request) {
  std::vector<Option> options = options_of(request.options);
  append(options, declared_options({{"CompareRequest::plans", &request.plans},
                                    {"CompareRequest::confirm", &request.confirm}}));
  append(options, options_of(request.tasks, "CompareRequest::"));
  return options;
}

std::vector<Option> options_of(ConvergeRequest& request) {
  std::vector<Option> options = options_of(request.options);
  append(options, declared_options({{"ConvergeRequest::plan", &request.plan}}));
  return options;
}

std::vector<Option> options_of(ValidateRequest& request) {
  std::vector<Option> options = options_of(request.options);
  append(options, options_of(request.tasks, "ValidateRequest::"));
  return options;
}

std::vector<Option> options_of(PlanRequest& request) {
  TaskFiles& confirm = request.confirm_tasks;
  std::vector<Option> options = declared_options({{"PlanRequest::confirm", &request.confirm},
                                                  {"PlanRequest::length", &request.length},
                                                  {"PlanRequest::pieces", &request.pieces},
                                                  {"PlanRequest::replay", &request.replay}});
  append(options, options_of(request.tasks, "PlanRequest::"));
  append(options, declared_options({{"PlanRequest::confirm_tasks", &confirm.files},
                                    {"PlanRequest::confirm_probes", &confirm.probes},
                                    {"PlanRequest::confirm_cases", &confirm.cases}}));
  append(options, options_of(request.options));
  append(options, declared_options({{"PlanRequest::formats", &request.formats}}));
  std::string& help = options.back().help;
  help = fmt::format(fmt::runtime(help), plan_format_names());
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
