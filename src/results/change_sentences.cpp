// Describes the changes in sentences: the largest, and how many there are.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/diff.hpp"
#include "headgauge/text.hpp"
#include "results/sentences.hpp"
#include "results/value_or.hpp"

namespace headgauge {
namespace {

constexpr std::size_t kMostSentences = 3;

// Returns true for a bound: it follows from other metrics, which are more informative.
bool is_bound(const std::string& name) {
  const MetricInfo* info = find_metric_info(name);
  return info != nullptr && info->bound;
}

// The labels of a change: the intervention of a comparison, the head, and the others.
struct Subject {
  std::string intervention;
  HeadName head;
  std::size_t rest = 0;  // index of the first other label
};

// Returns nothing if the change does not belong to one head.
std::optional<Subject> subject_of(const Results& results, const Change& change) {
  Subject subject;
  const std::string dim = intervention_dimension(results);
  if (!dim.empty() && !change.labels.empty() && change.labels[0].first == dim) {
    subject.intervention = change.labels[0].second;
    subject.rest = 1;
  }
  const std::size_t k = subject.rest;
  if (change.labels.size() < k + 2 || change.labels[k].first != "layer" ||
      change.labels[k + 1].first != "head") {
    return std::nullopt;
  }
  subject.head.layer = std::stoi(change.labels[k].second);
  subject.head.head = std::stoi(change.labels[k + 1].second);
  subject.rest = k + 2;
  return subject;
}

// Returns the cell of a change before (old run, original) or after (new run, intervention).
MetricCell cell_of(const Results& results, const Change& change, const Subject& subject,
                   bool after) {
  const LabelledArray& metric = results.require_metric(change.metric);
  const std::string dim = subject.intervention.empty() ? "run" : intervention_dimension(results);
  const auto axis = std::ranges::find(metric.dims(), dim, &Dimension::name);
  const Index place = !after                         ? 0
                      : subject.intervention.empty() ? 1
                                                     : *axis->find(subject.intervention);
  MetricCell cell;
  cell.metric = change.metric;
  cell.index = change.cell;
  cell.index.insert(cell.index.begin() + (axis - metric.dims().begin()), place);
  cell.value = after ? change.after : change.before;
  return cell;
}

Scope scope_of(const Results& results, const Change& change, const Subject& subject,
               const MetricCell& before, const MetricCell& after) {
  Scope scope;
  scope.give("metric", change.metric)
      .give("subject", spot_of(subject.head))
      .give("before", before)
      .give("after", after)
      .give_if("of_runs", results.coord("run") != nullptr)
      .give_if("each_head", value_or<std::string>(results.settings, "each", "none") == "head");
  if (!subject.intervention.empty()) scope.give("change", subject.intervention);
  // The labels of the intervention have no index in the cell.
  const std::size_t first = change.labels.size() - change.cell.size();
  std::vector<Scope> labels;
  for (std::size_t k = subject.rest; k < change.labels.size(); ++k) {
    const auto& [dim, label] = change.labels[k];
    Scope& place = labels.emplace_back().give("dim", dim);
    const Coordinate& all = results.require_coord(dim).labels();
    if (const auto* numbers = std::get_if<std::vector<double>>(&all)) {
      const Index at = change.cell[k - first];
      place.give("its_label",
                 Fact{label, {FactSource::Kind::coordinate, dim, {at}}, (*numbers)[at]});
    } else {
      place.give("its_label", label);
    }
  }
  return scope.give("labels", std::move(labels));
}

// The flags of a diff that were gained or lost, each with its heads.
std::optional<std::vector<Scope>> flags_of(const Results& diff, const std::string& change) {
  std::map<std::string, std::vector<Scope>> heads;
  for (const Flag& flag : diff.flags) {
    if (flag.change != change) continue;
    const HeadName head{.layer = flag.layer, .head = flag.head};
    heads[flag.name].emplace_back().give("that_head", Spot{.head = head});
  }
  std::vector<Scope> flags;
  for (auto& [name, list] : heads) {
    flags.emplace_back().give("flag", legible(name)).give("heads_with_it", std::move(list));
  }
  return flags.empty() ? std::nullopt : std::optional(std::move(flags));
}

// Gives the counts of a list and the flags that changed.
Scope counts_of(const Results& results, const ChangeList& list) {
  Scope scope;
  return scope.count("changed", list.changed)
      .count("values", list.values)
      .count("by_chance", std::ceil(list.by_chance))
      .count("too_few", list.too_few)
      .count("unmeasured_changed", list.unmeasured_changed)
      .count("unmeasured_values", list.unmeasured_values)
      .give("level", computed(100 * list.level, fmt::format("{:g}", 100 * list.level)))
      .give_if("of_runs", results.coord("run") != nullptr)
      .give("gained_flags", flags_of(results, "gained"))
      .give("lost_flags", flags_of(results, "lost"));
}

// Adds one sentence for each of the first changes of single heads in `list`, each about another
// metric and another head.
void add_largest(const Results& results, const ChangeList& list, std::vector<SummaryLine>& lines) {
  std::set<std::string> metrics, heads;
  std::size_t made = 0;
  for (const auto* part : {&list.measured, &list.unmeasured}) {
    for (const Change& change : *part) {
      if (made == kMostSentences) return;
      const auto subject = subject_of(results, change);
      // What equal weights make of a head is known beforehand.
      if (!subject || is_bound(change.metric) || subject->intervention == "uniform") continue;
      const MetricCell before = cell_of(results, change, *subject, false);
      const MetricCell after = cell_of(results, change, *subject, true);
      if (rounded(before.value) == rounded(after.value) || metrics.contains(change.metric) ||
          heads.contains(subject->head.text())) {
        continue;
      }
      ++made;
      metrics.insert(change.metric);
      heads.insert(subject->head.text());
      add_sentences("change", results, scope_of(results, change, *subject, before, after), lines);
    }
  }
}

}  // namespace

std::vector<SummaryLine> summarize_changes(const Results& results, const ChangeList& list) {
  std::vector<SummaryLine> lines = sentences_about("diff", results, {});
  add_largest(results, list, lines);
  add_sentences("changed", results, counts_of(results, list), lines);
  return lines;
}

}  // namespace headgauge
