// What changed, in sentences.
#include <algorithm>

#include "headgauge/diff.hpp"
#include "results/change_sentences.hpp"
#include "results/summary_line.hpp"

namespace headgauge {
namespace {

using summary::Line;

class Summary {
 public:
  Summary(const Results& diff, const ChangeList& list) : diff_(diff), list_(list) {}

  std::vector<SummaryLine> lines() {
    tell_loss();
    for (SummaryLine& line : change_sentences(diff_, list_)) lines_.push_back(std::move(line));
    tell_count();
    tell_flags();
    return std::move(lines_);
  }

 private:
  void tell_loss() {
    const auto before = find_cell(diff_, "loss", {{"run", 0}});
    const auto after = find_cell(diff_, "loss", {{"run", 1}});
    if (!before || !after) return;
    Line line;
    line.say("At L = ").longest(diff_);
    line.say(", the loss went ");
    line.say("from ").number(*before).say(" to ").number(*after);
    lines_.push_back(line.say(" nats.").done());
  }

  void tell_count() {
    if (list_.values == 0) return;
    Line line;
    line.derived(static_cast<double>(list_.changed)).say(" of ");
    line.derived(static_cast<double>(list_.values)).say(" values changed by more than ");
    line.fact(
        {fmt::format("{:g}", list_.threshold), {Line::Kind::setting, "errors"}, list_.threshold});
    line.say(" standard errors; ").derived(list_.by_chance);
    lines_.push_back(line.say(" would by chance.").done());
  }

  void tell_flags() {
    if (diff_.flags.empty()) return;
    const auto count = [&](const char* change) {
      return static_cast<double>(std::ranges::count(diff_.flags, change, &Flag::change));
    };
    Line line;
    line.say("Flags gained: ").derived(count("gained"));
    line.say(", lost: ").derived(count("lost"));
    lines_.push_back(line.say(".").done());
  }

  const Results& diff_;
  const ChangeList& list_;
  std::vector<SummaryLine> lines_;
};

}  // namespace

std::vector<SummaryLine> summarize_changes(const Results& diff, const ChangeList& list) {
  return Summary(diff, list).lines();
}

}  // namespace headgauge
