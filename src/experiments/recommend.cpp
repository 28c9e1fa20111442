#include "experiments/recommend.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "experiments/gains.hpp"
#include "experiments/reach.hpp"
#include "findings/answers.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/metric_names.hpp"
#include "results/change_sentences.hpp"
#include "results/mean_of.hpp"
#include "results/next_commands.hpp"
#include "results/summary_line.hpp"
#include "results/value_or.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr const char* kConfirmed = metric::loss_change_confirmed;
constexpr std::size_t kMostLines = 8;  // maximum number of recommendation lines; the flags hold all
constexpr const char* kLongerText =
    "The standard error comes from the blocks of a text: a longer text has more.";

std::string label(const Results& results, const Candidate& candidate) {
  return results.require_coord(intervention_dimension(results)).label(candidate.intervention);
}

// Returns the selection of an option, such as "head 1.4" or "heads 1.4,2.*"; empty if it selected
// all.
std::string chosen(const Results& results, const std::string& option) {
  const std::string value = value_or<std::string>(results.settings, option, "all");
  if (value == "all") return {};
  const bool one = value.find_first_of(",-*") == std::string::npos;
  return fmt::format("{} {}", one ? option.substr(0, option.size() - 1) : option, value);
}

std::string who(const Results& results, const Candidate& candidate) {
  if (candidate.head && candidate.head->head >= 0) {
    return fmt::format("head {}", candidate.head->text());
  }
  if (candidate.head) return fmt::format("layer {}", candidate.head->layer);
  const std::string layers = chosen(results, "layers"), heads = chosen(results, "heads");
  if (layers.empty() && heads.empty()) return "all heads";
  return layers.empty() || heads.empty() ? layers + heads : fmt::format("{}, {}", layers, heads);
}

// Returns the first task whose answers the candidate is shown to lose.
std::optional<std::string> lost_by(const Results& results, const Candidate& candidate) {
  return lost_task(results, [&](Index task) {
    return cell_of(results, metric::loss_change, candidate, {kOutcome, task});
  });
}

// Describes the change and its outcome.
std::string outcome(const Results& results, const Candidate& candidate) {
  std::string text = fmt::format("{}: {}, loss {} nats at L = {}", who(results, candidate),
                                 label(results, candidate), with_error(candidate.change),
                                 longest_length(results).value_or(0));
  if (const auto there = cell_of(results, kConfirmed, candidate))
    text += fmt::format(" (on the other text {})", with_error(*there));
  if (const auto kl = cell_of(results, metric::kl, candidate))
    text += fmt::format(", KL {:.2g}", kl->value);
  if (candidate.head && candidate.head->head >= 0) {
    if (const auto change = cell_of(results, metric::output_change, candidate)) {
      text += fmt::format(", output changed by {} %", rounded(100 * change->value));
    }
    Candidate original = candidate;
    original.intervention = 0;
    const auto before = cell_of(results, metric::effective_tokens, original);
    const auto after = cell_of(results, metric::effective_tokens, candidate);
    if (before && after) {
      text +=
          fmt::format(", effective tokens {} -> {}", rounded(before->value), rounded(after->value));
    }
  }
  return text;
}

// Describes the gains on the measured text, and which of them another text confirms.
class Recommendations {
 public:
  explicit Recommendations(const Results& results)
      : results_(results),
        all_(candidates(results)),
        gains_(results),
        best_(choices(all_, gains_)),
        tried_elsewhere_(results.metric(kConfirmed) != nullptr),
        confirmed_(results, kConfirmed),
        length_(longest_length(results).value_or(0)) {}

  std::vector<SummaryLine> lines() {
    if (all_.empty()) return {};
    if (std::ranges::all_of(
            all_, [](const Candidate& c) { return std::isnan(c.change.standard_error); })) {
      say(fmt::format(
              "No recommendation: a text of {} tokens has too few blocks for a standard error.",
              length_),
          kLongerText, next::kCompare);
    } else if (best_.empty()) {
      say_nothing_gains();
    } else {
      if (all_.front().head) say_how_many();
      tried_elsewhere_ ? say_confirmed() : say_candidates();
    }
    return std::move(lines_);
  }

 private:
  void say(std::string text, std::string means, const char* next,
           std::vector<std::string> heads = {}) {
    SummaryLine& line = lines_.emplace_back();
    line.text = std::move(text);
    line.heads = std::move(heads);
    line.means = std::move(means);
    line.next = next;
  }

  void say_nothing_gains() {
    const auto least = std::ranges::min_element(all_, {}, [](const Candidate& c) {
      return std::isnan(c.change.value) ? HUGE_VAL : c.change.value;
    });
    say(fmt::format("No recommendation: nothing lowers the loss at L = {} beyond what chance does "
                    "in {} {}; nearest: {} in {}, loss {} nats.",
                    length_, gains_.tried(), gains_.tried() == 1 ? "try" : "tries",
                    label(results_, *least), who(results_, *least), with_error(least->change)),
        intervention_dimension(results_) == "normalizer"
            ? "None of these changes is shown to help on this text. Whether a large model that "
              "learns under one of them gains is not known; docs/training.md has small ones."
            : "None of these changes is shown to help on this text.",
        all_.front().head ? next::kPlan : next::kEachLayer);
  }

  void say_how_many() {
    const auto lower = std::ranges::count_if(
        all_, [&](const Candidate& candidate) { return gains_.is_gain(candidate.change); });
    say(fmt::format("{} of {} interventions {} the loss at L = {} beyond chance; on average chance "
                    "explains at most {:g} % of such a list.",
                    lower, all_.size(), lower == 1 ? "lowers" : "lower", length_,
                    100 * kFalseDiscoveries),
        "Each was tried by itself: together they may act differently.", next::kConfirm);
  }

  void say_each(const char* how, const std::vector<Candidate>& some, const std::string& means,
                const char* next) {
    for (std::size_t i = 0; i < std::min(some.size(), kMostLines); ++i) {
      const auto& head = some[i].head;
      say(fmt::format("{} {}.", how, outcome(results_, some[i])), means, next,
          head && head->head >= 0 ? std::vector{head->text()} : std::vector<std::string>{});
    }
    if (some.size() > kMostLines) {
      say(fmt::format("{} more gain less.", some.size() - kMostLines), means, next);
    }
  }

  // Names the changes that lower the loss here and are shown to lose answers.
  void say_losing() {
    std::string losing;
    for (const Candidate& candidate : best_) {
      const auto task = lost_by(results_, candidate);
      if (!task) continue;
      losing += fmt::format("{}{}, {} ({})", losing.empty() ? "" : "; ", who(results_, candidate),
                            label(results_, candidate), *task);
    }
    if (losing.empty()) return;
    say(fmt::format("{}answers are shown to be lost, so it is not recommended: {}.",
                    summary::at_case_lengths(results_), losing),
        "A lower loss of text does not make up for answers that are no longer found.",
        next::kTasksEachLayer);
  }

  void say_candidates() {
    const bool chosen = gains_.tried() > 1;
    say_each("Lower loss in", best_,
             chosen
                 ? "It was chosen among several on this text, so it looks better here than it is."
                 : "It was tried on this text alone.",
             next::kConfirm);
    say(fmt::format("No recommendation yet: {} {} on this text{}; confirm_gains() tries {} on "
                    "another.",
                    best_.size() == 1 ? "it was" : "they were", chosen ? "chosen" : "tried",
                    chosen ? "" : " alone", best_.size() == 1 ? "it" : "them"),
        chosen ? "Only a text that had no part in the choice can confirm a gain."
               : "Another text may show no gain.",
        next::kConfirm);
    say_losing();
  }

  // Returns "novel.txt (L = 1024)".
  std::string other_text() const {
    const auto& settings = results_.settings;
    const auto text = settings.find("confirm_text");
    if (text == settings.end() || !text->contains("names")) return "the other text";
    std::vector<std::string> names;
    for (const auto& name : text->at("names")) {
      if (name.is_string()) {
        names.push_back(std::filesystem::path(name.get<std::string>()).filename());
      }
    }
    return fmt::format("{} (L = {})", fmt::join(names, ", "),
                       value_or(settings, "confirm_length", 0));
  }

  std::string listed(const std::vector<Candidate>& some) const {
    std::string text;
    for (const Candidate& candidate : some) {
      const auto there = cell_of(results_, kConfirmed, candidate);
      text += fmt::format("{}{}, {} ({})", text.empty() ? "" : "; ", who(results_, candidate),
                          label(results_, candidate), there ? with_error(*there) : "not measured");
    }
    return text;
  }

  void say_confirmed() {
    std::vector<Candidate> confirmed, higher, open;
    std::size_t gained = 0;
    bool judged = false;
    for (const Candidate& candidate : best_) {
      const auto there = cell_of(results_, kConfirmed, candidate);
      judged = judged || (there && !std::isnan(there->standard_error));
      const bool rises = there && t_test(mean_of(*there), 0, Tail::above).p <= kFalseDiscoveries;
      const bool gains = there && confirmed_.is_gain(*there);
      gained += gains ? 1 : 0;
      if (gains && lost_by(results_, candidate)) continue;
      (gains ? confirmed : rises ? higher : open).push_back(candidate);
    }
    if (!judged) {
      say(fmt::format("No recommendation: {} has too few blocks for a standard error.",
                      other_text()),
          kLongerText, next::kConfirm);
      return;
    }
    const auto together = find_cell(results_, metric::loss_change_together, {});
    if (best_.size() > 1) {
      std::string text = fmt::format("{} of these {} {} the loss on {} beyond chance", gained,
                                     best_.size(), gained == 1 ? "lowers" : "lower", other_text());
      if (together) {
        text += fmt::format("; all {} at once change it there by {} nats", best_.size(),
                            with_error(*together));
      }
      text += ".";
      if (together && confirmed.size() > 1 && confirmed.size() < best_.size()) {
        text += " The recommended ones alone were not tried at once.";
      }
      say(std::move(text), "A gain that fails there was chance, or holds only on the first text.",
          next::kPlan);
    }
    say_each("Recommended for", confirmed,
             has_task_that_is_done(results_)
                 ? "The loss fell on a text that had no part in the choice, and this change alone "
                   "is not shown to lose answers; that does not show that it loses none."
                 : std::string("The loss fell on a text that had no part in the choice. ") +
                       summary::kFarBack + " Give --tasks.",
             next::kPlan);
    say_losing();
    const std::string where = best_.size() > 1 ? "there" : "on " + other_text();
    if (!open.empty()) {
      say(fmt::format("No change of the loss is shown {}: {}.", where, listed(open)),
          "This does not show that there is no change: a longer text may decide.", next::kConfirm);
    }
    if (!higher.empty()) {
      say(fmt::format("The loss is shown to rise {}: {}.", where, listed(higher)),
          "These changes gain only on the first text.", next::kValidate);
    }
  }

  const Results& results_;
  std::vector<Candidate> all_;
  LossGains gains_;
  std::vector<Candidate> best_;
  bool tried_elsewhere_;
  LossGains confirmed_;
  int length_;
  std::vector<SummaryLine> lines_;
};

}  // namespace

std::vector<HeadName> changed_heads(const Results& results) {
  std::vector<HeadName> heads = measured_heads(results);
  if (results.metric(metric::output_change) == nullptr) return heads;
  const std::string dim = intervention_dimension(results);
  std::erase_if(heads, [&](const HeadName& head) {
    for (Index k = 1; k < results.coord_size(dim); ++k) {
      if (find_cell(results, metric::output_change,
                    {{"layer", head.layer_index}, {"head", head.head_index}, {dim, k}})) {
        return false;
      }
    }
    return true;
  });
  return heads;
}

std::vector<Flag> flag_gains(const Results& results) {
  std::vector<Flag> flags;
  const LossGains gains(results), confirmed(results, kConfirmed);
  for (const Candidate& candidate : choices(candidates(results), gains)) {
    if (!candidate.head || candidate.head->head < 0) continue;
    const auto there = cell_of(results, kConfirmed, candidate);
    const bool recommended = there && confirmed.is_gain(*there) && !lost_by(results, candidate);
    Flag flag;
    flag.name = recommended ? "recommended" : "candidate";
    flag.layer = candidate.head->layer;
    flag.head = candidate.head->head;
    flag.length = longest_length(results).value_or(0);
    flag.value = candidate.change.value;
    flag.threshold = gains.threshold(candidate.change);
    flag.source = "docs/mathematics.md 7a";
    if (recommended) flag.advice = outcome(results, candidate);
    flags.push_back(std::move(flag));
  }
  return flags;
}

std::vector<SummaryLine> summarize_comparison(const Results& results) {
  std::vector<SummaryLine> lines;
  const auto add = [&](summary::MaybeLine line, const char* means, const char* next) {
    if (line) lines.push_back(*summary::explained(std::move(line), means, next));
  };
  if (results.changes) {
    const bool each_head = value_or<std::string>(results.settings, "each", "none") == "head";
    for (SummaryLine& line : change_sentences(results, *results.changes)) {
      add(std::move(line),
          each_head ? "A metric changes because this head has another normalizer or pattern: the "
                      "loss says what that is worth."
                    : "A metric changes because this head, or others before it or beside it, have "
                      "another normalizer or pattern: the loss says what that is worth.",
          each_head ? next::kConfirm : next::kOneHead);
    }
  }
  if (results.metric(metric::loss_change) != nullptr && results.coord("pattern") != nullptr &&
      tasks_of(results).empty()) {
    add(SummaryLine{summary::kFarBack, {}, {}},
        "An answer may need a key that a pattern drops: the mean over all tokens hides it.",
        next::kProbe);
  }
  for (SummaryLine& line : task_sentences(results)) lines.push_back(std::move(line));
  for (SummaryLine& line : answer_change_sentences(results)) lines.push_back(std::move(line));
  for (SummaryLine& line : reach_sentences(results)) {
    add(std::move(line),
        "The changed model copies worse over that distance than it predicts what is new. Most "
        "tokens repeat nothing, so the mean loss hides it.",
        next::kEachLayer);
  }
  for (SummaryLine& line : Recommendations(results).lines()) lines.push_back(std::move(line));
  return lines;
}

}  // namespace headgauge
