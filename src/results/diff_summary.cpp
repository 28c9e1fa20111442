// What changed, in sentences.
#include <algorithm>
#include <cmath>
#include <set>

#include "headgauge/catalogue.hpp"
#include "headgauge/diff.hpp"
#include "results/summary_line.hpp"

namespace headgauge {
namespace {

using summary::Line;

// How many changes have a sentence, each of another metric and another head.
constexpr std::size_t kMostSentences = 3;

// Bounds follow from other metrics, which say more.
bool is_bound(const std::string& name) {
  const MetricInfo* info = find_metric_info(name);
  return info != nullptr && info->bound;
}

class Summary {
 public:
  Summary(const Results& diff, const ChangeList& list, double errors)
      : diff_(diff), list_(list), errors_(errors) {}

  std::vector<SummaryLine> lines() {
    tell_loss();
    tell_changes();
    tell_count();
    tell_flags();
    return std::move(lines_);
  }

 private:
  MetricCell run_cell(const Change& change, Index run) const {
    const std::vector<std::string> dims = diff_.require_metric(change.metric).dim_names();
    const auto place = std::ranges::find(dims, "run") - dims.begin();
    MetricCell cell;
    cell.metric = change.metric;
    cell.index = change.cell;
    cell.index.insert(cell.index.begin() + place, run);
    cell.value = run == 0 ? change.before : change.after;
    return cell;
  }

  void from_to(Line& line, const MetricCell& before, const MetricCell& after) const {
    line.say("from ").number(before).say(" to ").number(after);
  }

  void tell_loss() {
    const auto before = find_cell(diff_, "loss", {{"run", 0}});
    const auto after = find_cell(diff_, "loss", {{"run", 1}});
    if (!before || !after) return;
    Line line;
    line.say("At L = ").longest(diff_);
    line.say(", the loss went ");
    from_to(line, *before, *after);
    lines_.push_back(line.say(" nats.").done());
  }

  void tell_changes() {
    std::set<std::string> metrics, heads;
    for (const auto* part : {&list_.measured, &list_.unmeasured}) {
      for (const Change& change : *part) {
        if (metrics.size() == kMostSentences) return;
        if (is_bound(change.metric) || !of_one_head(change)) continue;
        const MetricCell before = run_cell(change, 0), after = run_cell(change, 1);
        const std::string head = change.labels[0].second + "." + change.labels[1].second;
        if (rounded(before.value) == rounded(after.value) || metrics.contains(change.metric) ||
            heads.contains(head)) {
          continue;
        }
        metrics.insert(change.metric);
        heads.insert(head);
        lines_.push_back(sentence(change, head, before, after));
      }
    }
  }

  static bool of_one_head(const Change& change) {
    return change.labels.size() >= 2 && change.labels[0].first == "layer" &&
           change.labels[1].first == "head";
  }

  SummaryLine sentence(const Change& change, const std::string& head, const MetricCell& before,
                   const MetricCell& after) const {
    Line line;
    line.say(change.metric).say(" of head ").say(head);
    const char* separator = " at ";
    for (std::size_t k = 2; k < change.labels.size(); ++k) {
      const auto& [dim, label] = change.labels[k];
      line.say(separator).say(dim).say(" ");
      const Coordinate& labels = diff_.require_coord(dim).labels();
      if (const auto* numbers = std::get_if<std::vector<double>>(&labels)) {
        const auto place = static_cast<std::size_t>(change.cell[k]);
        line.fact({label, {Line::Kind::coordinate, dim, {change.cell[k]}}, (*numbers)[place]});
      } else {
        line.say(label);
      }
      separator = ", ";
    }
    line.say(" went ");
    from_to(line, before, after);
    if (std::isfinite(change.errors)) {
      line.say(", by ").fact({rounded(change.errors), {Line::Kind::derived}, change.errors});
      line.say(" standard errors");
    }
    SummaryLine done = line.say(".").done();
    done.heads.push_back(head);
    return done;
  }

  void tell_count() {
    if (list_.values == 0) return;
    Line line;
    line.derived(static_cast<double>(list_.changed)).say(" of ");
    line.derived(static_cast<double>(list_.values)).say(" values changed by more than ");
    line.fact({fmt::format("{:g}", errors_), {Line::Kind::setting, "errors"}, errors_});
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
  double errors_;
  std::vector<SummaryLine> lines_;
};

}  // namespace

std::vector<SummaryLine> summarize_changes(const Results& diff, const ChangeList& list,
                                           double errors) {
  return Summary(diff, list, errors).lines();
}

}  // namespace headgauge
