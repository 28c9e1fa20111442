// Summarises the changes in sentences.
#include <algorithm>
#include <cmath>

#include "headgauge/diff.hpp"
#include "headgauge/metric_names.hpp"
#include "results/change_sentences.hpp"
#include "results/next_commands.hpp"
#include "results/summary_line.hpp"

namespace headgauge {
namespace {

using summary::explained;
using summary::Line;

class Summary {
 public:
  Summary(const Results& diff, const ChangeList& list) : diff_(diff), list_(list) {}

  std::vector<SummaryLine> lines() {
    tell_loss();
    for (SummaryLine& line : change_sentences(diff_, list_)) {
      add(std::move(line),
          "A change of many standard errors is real but may not matter: see whether the loss "
          "changed.");
    }
    tell_count();
    tell_flags();
    return std::move(lines_);
  }

 private:
  void add(SummaryLine line, const char* means) {
    lines_.push_back(*explained(std::move(line), means, next::kDrawn));
  }

  void tell_loss() {
    const auto before = find_cell(diff_, metric::loss, {{"run", 0}});
    const auto after = find_cell(diff_, metric::loss, {{"run", 1}});
    if (!before || !after) return;
    Line line;
    line.say("At L = ").longest(diff_);
    line.say(", the loss went ");
    line.say("from ").number(*before).say(" to ").number(*after);
    add(line.say(" nats.").done(),
        "The loss says what all changes together are worth on this text.");
  }

  void tell_count() {
    if (list_.values == 0) return;
    Line line;
    line.derived(static_cast<double>(list_.changed)).say(" of ");
    line.derived(static_cast<double>(list_.values)).say(" values changed, at most ");
    line.derived(std::ceil(list_.by_chance)).say(" of them by chance (false discovery rate ");
    const double percent = 100 * list_.level;
    line.fact({fmt::format("{:g}", percent), {Line::Kind::setting, "level"}, list_.level, 100});
    add(line.say(" %).").done(), "The two runs differ if more values changed than by chance.");
  }

  void tell_flags() {
    if (diff_.flags.empty()) return;
    const auto count = [&](const char* change) {
      return static_cast<double>(std::ranges::count(diff_.flags, change, &Flag::change));
    };
    Line line;
    line.say("Flags gained: ").derived(count("gained"));
    line.say(", lost: ").derived(count("lost"));
    add(line.say(".").done(),
        "A small change can add or remove the flag of a head near a threshold.");
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
