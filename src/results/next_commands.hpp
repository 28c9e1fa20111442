// Follow-up commands for findings and flags (SummaryLine::next, FlagInfo::next), in backticks.
// MODEL, TEXT, TASKS and HEAD are placeholders for the user's own, CHANGE for what a comparison
// compared, PLAN for the plan that was made.
#pragma once

namespace headgauge::next {

inline constexpr const char* kConverge =
    "`headgauge converge MODEL TEXT` says how many keys each head needs for its output.";
inline constexpr const char* kDropKeys =
    "`headgauge compare MODEL TEXT --pattern window:size=128,sinks:sinks=4,window=124` says what "
    "it costs to drop the first keys, the sinks of most models.";
inline constexpr const char* kCompare =
    "`headgauge compare MODEL TEXT --normalizer uniform,ssmax,sparsemax` says how other "
    "normalizers change the loss.";
inline constexpr const char* kCompareTasks =
    "`headgauge compare MODEL TEXT TASKS --pattern sinks:sinks=4,window=124` says which answers a "
    "smaller cache loses.";
inline constexpr const char* kProbe =
    "`headgauge compare MODEL TEXT CHANGE --probe replay` says whether a passage that comes again "
    "is still found.";
inline constexpr const char* kTasksEachLayer =
    "`headgauge compare MODEL TEXT TASKS CHANGE --each layer` changes one layer at a time and says "
    "which change loses answers.";
inline constexpr const char* kOneHead =
    "`headgauge compare MODEL TEXT CHANGE --heads HEAD` changes that head alone and says how the "
    "loss changes.";
inline constexpr const char* kEachLayer =
    "`headgauge compare MODEL TEXT CHANGE --each layer` changes one layer at a time and says which "
    "change affects the loss.";
inline constexpr const char* kConfirm =
    "`headgauge compare MODEL TEXT CHANGE --confirm FILE` tests on another text the changes that "
    "lower the loss here.";
inline constexpr const char* kLookAt =
    "`headgauge scan MODEL TEXT --measures weights,roles --sort weight_induction` "
    "lists heads by what they look at.";
inline constexpr const char* kLimits =
    "`headgauge reproduce limits MODEL TEXT` tests paper A's claims on this model.";
inline constexpr const char* kTokens =
    "`headgauge reproduce tokens MODEL TEXT` tests paper B's claims on this model.";
inline constexpr const char* kPlan =
    "`headgauge plan MODEL TEXT --confirm FILE --out plan` searches for heads that can keep fewer "
    "keys, and measures the cost on another text.";
inline constexpr const char* kValidate =
    "`headgauge validate MODEL --text FILE FILE FILE` says which metrics and flags predict the "
    "loss on your texts.";
inline constexpr const char* kDrawn =
    "`headgauge diff OLD NEW --out DIR` and `headgauge report DIR` show the changes of all heads.";
inline constexpr const char* kUnderPlan =
    "`headgauge scan MODEL TEXT --plan PLAN` measures the heads under the plan.";

}  // namespace headgauge::next
