#include "experiments/recommend.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "experiments/gains.hpp"
#include "findings/answers.hpp"
#include "findings/costs.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/diff.hpp"
#include "headgauge/metric_names.hpp"
#include "results/mean_of.hpp"
#include "results/sentences.hpp"
#include "results/value_or.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr const char* kConfirmed = metric::loss_change_confirmed;
constexpr std::size_t kMostLines = 8;  // maximum number of recommendation lines; the flags hold all

// Returns the selection of an option, such as "head 1.4" or "heads 1.4,2.*"; nothing if it selected
// all.
std::optional<std::string> chosen(const Results& results, const std::string& option) {
  const auto value = value_or<std::string>(results.settings, option, "all");
  if (value == "all") return std::nullopt;
  const bool one = value.find_first_of(",-*") == std::string::npos;
  return fmt::format("{} {}", one ? option.substr(0, option.size() - 1) : option, value);
}

std::optional<std::string> selection(const Results& results) {
  const auto layers = chosen(results, "layers"), heads = chosen(results, "heads");
  return layers && heads ? fmt::format("{}, {}", *layers, *heads) : layers ? layers : heads;
}

bool is_of_head(const Candidate& candidate) {
  return candidate.head && candidate.head->head >= 0;
}

// Returns the first task whose answers the candidate is shown to lose.
std::optional<std::string> lost_by(const Results& results, const Candidate& candidate) {
  return lost_task(results, [&](Index task) {
    return cell_of(results, metric::loss_change, candidate, {kOutcome, task});
  });
}

// Gives a change, where it was made, and the place of its cells.
Scope scope_of(const Results& results, const Candidate& candidate) {
  const std::string dim = intervention_dimension(results);
  Scope scope({{dim, candidate.intervention}});
  scope.give("change", results.require_coord(dim).label(candidate.intervention))
      .give("unchanged", Spot{{{dim, 0}}})
      .give("selected", selection(results));
  if (!candidate.head) return scope;
  scope.picks.emplace_back("layer", candidate.head->layer_index);
  if (!is_of_head(candidate)) {
    return scope.give("its_layer", fmt::format("{}", candidate.head->layer));
  }
  scope.picks.emplace_back("head", candidate.head->head_index);
  return scope.give("its_head", candidate.head->text());
}

// Describes the gains on the measured text, and which of them another text confirms.
class Recommendations {
 public:
  explicit Recommendations(const Results& results)
      : results_(results),
        all_(candidates(results)),
        gains_(results),
        best_(choices(all_, gains_)),
        confirmed_(results, kConfirmed) {}

  std::vector<SummaryLine> lines() {
    // What nobody expects to lower the loss is judged by its cost (findings/costs.hpp).
    if (all_.empty() || (best_.empty() && results_.coord("served") != nullptr)) return {};
    scope_.count("tries", gains_.tried())
        .count("gains", best_.size())
        .give_if("of_heads", all_.front().head.has_value())
        .give_if("of_normalizers", intervention_dimension(results_) == "normalizer")
        .give_if("has_done_task", has_task_that_is_done(results_))
        .give("case_lengths", case_lengths(results_));
    if (std::ranges::all_of(
            all_, [](const Candidate& c) { return std::isnan(c.change.standard_error); })) {
      say("too_few_blocks");
    } else if (best_.empty()) {
      say_nothing_gains();
    } else {
      if (all_.front().head) say_how_many();
      results_.metric(kConfirmed) != nullptr ? say_confirmed() : say_candidates();
    }
    return std::move(lines_);
  }

 private:
  void say(const char* sentence) {
    if (auto line = make_sentence(sentence, results_, scope_)) lines_.push_back(*std::move(line));
  }
  // Says it of one change.
  void say(const char* sentence, const Candidate& candidate) {
    Scope scope = scope_of(results_, candidate);
    scope.names.insert(scope_.names.begin(), scope_.names.end());
    if (auto line = make_sentence(sentence, results_, scope)) lines_.push_back(*std::move(line));
  }

  void say_nothing_gains() {
    say("no_gain", *std::ranges::min_element(all_, {}, [](const Candidate& c) {
          return std::isnan(c.change.value) ? HUGE_VAL : c.change.value;
        }));
  }

  void say_how_many() {
    scope_.count("lower", std::ranges::count_if(
                              all_, [&](const Candidate& c) { return gains_.is_gain(c.change); }));
    scope_.count("tried", all_.size());
    scope_.give("false_discoveries", fmt::format("{:g}", 100 * kFalseDiscoveries));
    say("number_of_gains");
  }

  void say_each(const std::vector<Candidate>& some) {
    for (std::size_t i = 0; i < std::min(some.size(), kMostLines); ++i) {
      say("gain", some[i]);
      if (is_of_head(some[i])) lines_.back().heads = {some[i].head->text()};
    }
    if (some.size() <= kMostLines) return;
    scope_.count("left_out", some.size() - kMostLines);
    say("gains_left_out");
  }

  // Says something about a list of changes, unless it is empty.
  void say_list(const char* sentence, const char* name, const std::vector<Candidate>& some) {
    std::vector<Scope> list;
    for (const Candidate& candidate : some) {
      list.push_back(scope_of(results_, candidate));
      list.back().give("task", lost_by(results_, candidate));
    }
    scope_.give(name, std::move(list));
    say(sentence);
  }

  // Names the changes that lower the loss here and are shown to lose answers.
  void say_losing() { say_list("lost_answers", "losing_answers", best_); }

  void say_candidates() {
    say_each(best_);
    say("gains_to_confirm");
    say_losing();
  }

  // Gives the names of the other text, and its length.
  void give_other_text() {
    const auto& settings = results_.settings;
    const auto text = settings.find("confirm_text");
    if (text == settings.end() || !text->contains("names")) return;
    std::vector<std::string> names;
    for (const auto& name : text->at("names")) {
      if (name.is_string()) {
        names.push_back(std::filesystem::path(name.get<std::string>()).filename());
      }
    }
    scope_.give("other_names", fmt::format("{}", fmt::join(names, ", ")));
    scope_.count("other_length", value_or(settings, "confirm_length", 0));
  }

  void say_confirmed() {
    give_other_text();
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
    if (!judged) return say("too_few_blocks_there");
    scope_.count("gained", gained);
    scope_.give_if("only_some", confirmed.size() > 1 && confirmed.size() < best_.size())
        .give_if("are_confirmed", true);
    say("confirmed_gains");
    say_each(confirmed);
    say_losing();
    say_list("no_change_there", "unconfirmed", open);
    say_list("rises_there", "rising", higher);
  }

  const Results& results_;
  std::vector<Candidate> all_;
  LossGains gains_;
  std::vector<Candidate> best_;
  LossGains confirmed_;
  Scope scope_;
  std::vector<SummaryLine> lines_;
};

// Returns the index of the octave that begins at this distance; nothing for a distance that the
// results do not have.
std::optional<Index> octave_from(const Results& results, double distance) {
  const Dimension* const gap = results.coord("gap");
  if (gap == nullptr || !(distance >= 1 && distance < 1e15)) return std::nullopt;
  const auto octave = static_cast<Index>(std::bit_width(static_cast<std::uint64_t>(distance))) - 1;
  return octave < gap->size() ? std::optional(octave) : std::nullopt;
}

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
    if (recommended) {
      const auto outcome = make_sentence("outcome", results, scope_of(results, candidate));
      if (outcome) flag.advice = outcome->text;
    }
    flags.push_back(std::move(flag));
  }
  return flags;
}

std::vector<SummaryLine> summarize_comparison(const Results& results) {
  std::vector<SummaryLine> lines;
  const auto add = [&](std::vector<SummaryLine> more) {
    std::ranges::move(more, std::back_inserter(lines));
  };
  if (results.coord("served") != nullptr) add(cost_sentences(results, "pattern"));
  const auto costs = std::ssize(lines);
  if (results.changes) add(summarize_changes(results, *results.changes));
  std::ranges::for_each(lines.begin() + costs, lines.end(),
                        [](SummaryLine& line) { line.lead = false; });  // the answer of a diff
  if (results.metric(metric::loss_change) != nullptr && results.coord("pattern") != nullptr &&
      tasks_of(results).empty()) {
    add_sentences("comparison", results, {}, lines);
  }
  add(task_sentences(results));
  add(answer_change_sentences(results));
  add(reach_sentences(results));
  add(Recommendations(results).lines());
  return lines;
}

std::vector<SummaryLine> reach_sentences(const Results& results) {
  std::vector<SummaryLine> lines;
  const LabelledArray* const reaches = results.metric(metric::reach);
  if (reaches == nullptr || reaches->dims().size() != 1) return lines;
  const std::string dim = reaches->dims()[0].name();
  for (Index k = 1; k < reaches->dims()[0].size(); ++k) {
    const auto reach = find_cell(results, metric::reach, {{dim, k}});
    if (!reach || reach->is_none) continue;
    const auto octave = octave_from(results, reach->value);
    if (!octave) continue;
    Scope scope({{dim, k}});
    scope.give("change", reaches->dims()[0].label(k))
        .count("reach_end", 2 * reach->value - 1)
        .give("octave", Spot{{{"gap", *octave}}});
    add_sentences("octave", results, scope, lines);
  }
  return lines;
}

}  // namespace headgauge
