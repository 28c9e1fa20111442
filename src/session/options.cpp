// The options of a run and of its further inputs.
#include "headgauge/session.hpp"

namespace headgauge {
namespace {

std::vector<Option> options_of(TaskFiles& o, const std::string& owner) {
  return declared_options(owner, {{"tasks", &o.files}, {"probes", &o.probes}, {"cases", &o.cases}});
}

}  // namespace

std::vector<Option> options_of(ScanRequest& o) {
  return join_options({options_of(o.options), declared_options("ScanRequest", {{"plan", &o.plan}}),
                       options_of(o.tasks, "ScanRequest")});
}

std::vector<Option> options_of(CompareRequest& o) {
  return join_options(
      {options_of(o.options),
       declared_options("CompareRequest",
                        {{"windows", &o.windows}, {"plans", &o.plans}, {"confirm", &o.confirm}}),
       options_of(o.tasks, "CompareRequest")});
}

std::vector<Option> options_of(ConvergeRequest& o) {
  return join_options(
      {options_of(o.options), declared_options("ConvergeRequest", {{"plan", &o.plan}})});
}

std::vector<Option> options_of(ValidateRequest& o) {
  return join_options({options_of(o.options), options_of(o.tasks, "ValidateRequest")});
}

std::vector<Option> options_of(PlanRequest& o) {
  std::vector<Option> formats = declared_options("PlanRequest", {{"formats", &o.formats}});
  formats.front().help += plan_format_names();
  return join_options({declared_options("PlanRequest", {{"confirm", &o.confirm},
                                                        {"length", &o.length},
                                                        {"pieces", &o.pieces},
                                                        {"replay", &o.replay}}),
                       options_of(o.tasks, "PlanRequest"),
                       declared_options("PlanRequest", {{"confirm_tasks", &o.confirm_tasks.files},
                                                        {"confirm_probes", &o.confirm_tasks.probes},
                                                        {"confirm_cases", &o.confirm_tasks.cases}}),
                       options_of(o.options), formats});
}

std::vector<Option> options_of(LimitsRequest& o) {
  return join_options({options_of(o.options), options_of(o.tasks, "LimitsRequest")});
}

std::vector<Option> options_of(TokensRequest& o) {
  return options_of(o.options);
}

std::vector<Option> options_of(DiffRequest& o) {
  return join_options(
      {options_of(o.options),
       declared_options("DiffRequest", {{"level", &o.level}, {"limits", &o.limits}})});
}

}  // namespace headgauge
