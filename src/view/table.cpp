// Makes the declared tables of results.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/patterns.hpp"
#include "headgauge/ranks.hpp"
#include "headgauge/text.hpp"
#include "headgauge/view.hpp"
#include "results/header.hpp"
#include "results/value_or.hpp"
#include "view/declared_table.hpp"
#include "view/shown.hpp"

namespace headgauge::view {
namespace {

constexpr double kLevel = 0.05;
constexpr std::string_view kChange = "change";  // stands for the dim of a comparison
constexpr std::string_view kHeads = "heads";    // stands for layer and head
constexpr std::string_view kTasks = "tasks";    // stands for the outcomes that are tasks
constexpr std::array kMarks = {"", "strong", "faint"};

using Picks = std::vector<Pick>;

// Replaces each "{name}" that has words; what is put in is not read again.
template <class Words>
std::string filled(const std::string& text, const Words& words) {
  std::string made;
  std::size_t at = 0;
  for (auto open = text.find('{'); open != text.npos; open = text.find('{', at)) {
    const std::size_t close = text.find('}', open);
    if (close == text.npos) break;
    made.append(text, at, open - at);
    const std::optional<std::string> by = words(text.substr(open + 1, close - open - 1));
    made += by ? legible(*by) : text.substr(open, close - open + 1);
    at = close + 1;
  }
  return made.append(text, at);
}

// Returns the picks of both.
Picks joined(Picks picks, const Picks& more) {
  picks.insert(picks.end(), more.begin(), more.end());
  return picks;
}

// Reads a label of a numeric dim; undefined if it is a name.
double number_of(const std::string& label) {
  double number = kUndefined;
  const char* const end = label.data() + label.size();
  return std::from_chars(label.data(), end, number).ptr == end ? number : kUndefined;
}

// A row of a table, or a column for one label of `each`: the labels that tell it apart from others.
struct Place {
  Picks picks = {};
  std::vector<std::string> labels = {};
  std::vector<Index> order = {};  // of each label, along its dim
  Index first = 0;                // that of the last
};

class TableMaker {
 public:
  TableMaker(const Results& results, const DeclaredTable& declared, std::optional<Index> most)
      : results_(results), declared_(declared), most_(most.value_or(declared.most)) {
    const bool asked = std::ranges::count(declared.columns, "gain", &DeclaredColumn::star) > 0;
    if (asked && !intervention_dimension(results).empty()) gains_.emplace(results);
  }

  std::vector<Table> all() {
    std::vector<Table> tables;
    if (!is_made()) return tables;
    for (const Place& of : places(declared_.of)) {
      if (auto table = make(of)) tables.push_back(*std::move(table));
    }
    return tables;
  }

 private:
  std::string dim_of(const std::string& name) const {
    return name == kChange ? intervention_dimension(results_) : name == kTasks ? kOutcome : name;
  }

  bool is_made() const {
    const LabelledArray* judged = results_.metric(declared_.judges);
    const bool lacks =
        declared_.lacks.empty() || judged == nullptr || !judged->has_dim(dim_of(declared_.lacks));
    const bool has =
        declared_.has.empty() || (judged != nullptr && judged->has_dim(dim_of(declared_.has)));
    const bool chooses = declared_.best.empty() || !intervention_dimension(results_).empty();
    return lacks && has && chooses;
  }

  // Lists the labels of a dim; one empty place for no dim, none for a dim that is absent.
  std::vector<Place> places(const std::string& name) const {
    if (name.empty()) return {Place()};
    std::vector<Place> list;
    if (name == kHeads) {
      for (const HeadName& head : heads()) {
        list.push_back({{{"layer", head.layer_index}, {"head", head.head_index}},
                        {head.text()},
                        {std::ssize(list)}});
      }
      return list;
    }
    const Dimension* dim = results_.coord(dim_of(name));
    if (dim == nullptr) return list;
    const std::vector<Index> tasks = tasks_of(results_);
    for (Index i = 0; i < dim->size(); ++i) {
      if (name == kTasks && std::ranges::count(tasks, i) == 0) continue;
      const std::string label = dim->label(i);
      const bool in_words =
          declared_.lead && (dim->name() == "pattern" || dim->name() == "smaller");
      list.push_back({{{dim->name(), i}}, {in_words ? pattern_in_words(label) : label}, {i}, i});
    }
    return list;
  }

  // Lists the rows: the product of the places of all their dims.
  std::vector<Place> rows() const {
    std::vector<Place> product = {Place()};
    for (const std::string& dim : declared_.rows) {
      std::vector<Place> longer;
      for (const Place& begun : product) {
        for (const Place& next : places(dim)) {
          Place& row = longer.emplace_back(begun);
          row.picks.insert(row.picks.end(), next.picks.begin(), next.picks.end());
          row.labels.insert(row.labels.end(), next.labels.begin(), next.labels.end());
          row.order.insert(row.order.end(), next.order.begin(), next.order.end());
          row.first = next.first;
        }
      }
      product = std::move(longer);
    }
    const bool other = declared_.starts.starts_with('!');
    const std::string start = declared_.starts.substr(other ? 1 : 0);
    std::erase_if(product, [&](const Place& row) {
      return !start.empty() && row.labels.front().starts_with(start) == other;
    });
    return product;
  }

  // The places of `at`; nothing if a label is absent.
  std::optional<Picks> picks_of(const At& at) const {
    Picks picks;
    for (const auto& [name, label] : at) {
      const Dimension* dim = results_.coord(dim_of(name));
      if (dim == nullptr || dim->size() == 0) return std::nullopt;
      std::optional<Index> place;
      if (label == "first") place = 0;
      if (label == "last") place = dim->size() - 1;
      if (dim->name() == kOutcome && label == kReplay) {
        place = replay_of(results_);
      } else if (!place && std::holds_alternative<std::vector<double>>(dim->labels())) {
        place = dim->find(number_of(label));
      } else if (!place) {
        place = dim->find(label);
      }
      if (!place) return std::nullopt;
      picks.emplace_back(dim->name(), *place);
    }
    return picks;
  }

  std::optional<MetricCell> cell(const std::string& metric, Picks picks) const {
    if (const auto top_n = judged_top_n(results_)) picks.emplace_back("top_n", *top_n);
    return find_cell(results_, metric, std::span<const Pick>(picks));
  }

  bool is_one(const std::string& metric, const Picks& picks) const {
    const auto found = cell(metric, picks);
    return found && found->value == 1;
  }

  // The figure of all cells of a metric at these places.
  std::optional<MetricCell> figure(const DeclaredColumn& column, const Picks& picks) const {
    if (column.over == "heads") {
      const auto mean = mean_over_heads(results_, column.metric, heads(), picks.back());
      if (!mean) return std::nullopt;
      return MetricCell{{.value = *mean}, column.metric};
    }
    const LabelledArray* array = results_.metric(column.metric);
    if (array == nullptr) return std::nullopt;
    std::vector<double> values;
    array->each([&](std::span<const Index> at, std::size_t offset) {
      for (std::size_t k = 0; k < at.size(); ++k) {
        const auto pick = std::ranges::find(picks, array->dims()[k].name(), &Pick::first);
        if (pick != picks.end() && pick->second != at[k]) return;
      }
      if (std::isfinite(array->values[offset])) values.push_back(array->values[offset]);
    });
    if (values.empty()) return std::nullopt;
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    std::ranges::sort(values);
    double value = values.back();  // largest
    if (column.over == "mean") value = sum / static_cast<double>(values.size());
    if (column.over == "median") value = median(values);
    if (column.over == "sum") value = sum;
    return MetricCell{{.value = value, .rows = std::ssize(values)}, column.metric};
  }

  const std::vector<HeadName>& heads() const {
    if (heads_.empty()) {
      heads_ = intervention_dimension(results_).empty() ? measured_heads(results_)
                                                        : changed_heads(results_);
    }
    return heads_;
  }

  struct MadeColumn {
    const DeclaredColumn* declared;
    Column column;
    Picks picks;  // of `at` and `each`
  };

  std::vector<MadeColumn> columns(const Picks& of) const {
    std::vector<MadeColumn> made;
    for (const DeclaredColumn& declared : declared_.columns) {
      const bool without = declared.beside.starts_with('!');
      const bool fits =
          declared.beside.empty() ||
          without == (results_.coord(declared.beside.substr(without ? 1 : 0)) == nullptr);
      const bool there = declared.metric[0] == '{' || results_.metric(declared.metric) != nullptr;
      if (!fits || !there) continue;
      const auto at = picks_of(declared.at);
      if (!at) continue;
      const Picks picks = joined(*at, of);
      int number = 0;
      for (const Place& each : places(declared.each)) {
        Column column{
            .title = declared.title,
            .unit = declared.unit,
            .meaning = declared.explains ? metric_info(declared.metric).meaning : declared.meaning,
            .metric = declared.metric[0] == '{' ? "" : declared.metric,
            .rank = declared.rank < 0 ? ++number : declared.rank};
        for (std::string* text : {&column.title, &column.unit, &column.meaning}) {
          *text = in_words(*text, each, picks);
        }
        // The parameters of a specification stand below its name.
        const auto colon = column.title.find(':');
        if (!each.labels.empty() && colon != column.title.npos && column.unit.empty()) {
          column.unit = column.title.substr(colon + 1);
          column.title.resize(colon + 1);
        }
        made.emplace_back(&declared, std::move(column), joined(picks, each.picks));
      }
    }
    return made;
  }

  // The change k > 0 of a row with the least value of the metric that chooses it.
  std::optional<Index> best_of(const Place& row) const {
    const std::string dim = intervention_dimension(results_);
    std::optional<Index> best;
    double least = HUGE_VAL;
    for (Index k = 1; k < results_.coord_size(dim); ++k) {
      const auto found = cell(declared_.best, joined(row.picks, {{dim, k}}));
      if (!found || found->value >= least) continue;
      least = found->value;
      best = k;
    }
    return best;
  }

  // Keeps the rows where the test of a metric shows something, the smallest p first.
  void keep_shown(std::vector<Place>& rows, const Picks& of) const {
    const double level = value_or(results_.settings, "level", kLevel);
    std::vector<std::pair<std::pair<double, double>, Place>> kept;
    for (Place& row : rows) {
      const auto found = cell(declared_.shown, joined(of, row.picks));
      if (!found || !(found->p < level)) continue;
      const double errors = std::abs(found->value) / found->standard_error;
      kept.push_back({{found->p, std::isnan(errors) ? 0 : -errors}, std::move(row)});
    }
    std::ranges::stable_sort(kept, {}, [](const auto& one) { return one.first; });
    rows.clear();
    for (auto& [rank, row] : kept) rows.push_back(std::move(row));
  }

  Cell shown_cell(const MadeColumn& column, const Place& row) const {
    const DeclaredColumn& declared = *column.declared;
    if (declared.not_first && row.first == 0) return {};
    const Picks picks = joined(column.picks, row.picks);
    const auto found = declared.over.empty()
                           ? cell(in_words(declared.metric, row, row.picks), picks)
                           : figure(declared, picks);
    if (!found) return {.text = "-", .mark = Mark::faint};
    if (declared.part == "rows") {
      return {fmt::format("{}", found->rows), static_cast<double>(found->rows)};
    }
    if (declared.part == "p") {
      return {found->standard_error > 0 ? fmt::format("{:.1g}", found->p) : "exact", found->p};
    }
    double whole = 1;
    if (!declared.ratio_to.empty()) {
      const auto other = picks_of({{declared.at.front().first, declared.ratio_to}});
      const auto of = other ? cell(declared.metric, joined(*other, row.picks)) : std::nullopt;
      if (!of) return {.text = "-", .mark = Mark::faint};
      whole = of->value;
    }
    Cell made{shown(results_, *found, declared, whole), found->value / whole};
    const bool starred = declared.star == "p"      ? found->p <= kLevel
                         : declared.star == "gain" ? gains_ && gains_->is_gain(*found)
                                                   : is_one(declared.star, picks);
    if (starred) made.mark = Mark::strong;
    return made;
  }

  // Puts in what a title, a unit, a meaning or a note names: {} is the label of `of`, {level} that
  // setting, {length} the length of `picks` or, without one, how many there are.
  std::string in_words(const std::string& text, const Place& of, const Picks& picks = {}) const {
    return filled(text, [&](const std::string& name) -> std::optional<std::string> {
      if (name.empty()) return of.labels.empty() ? "" : of.labels.front();
      if (name == "level") return fmt::format("{:g}", value_or(results_.settings, "level", kLevel));
      const Dimension* dim = results_.coord(name);
      if (dim == nullptr) return std::nullopt;
      const auto pick = std::ranges::find(picks, name, &Pick::first);
      return pick == picks.end() ? fmt::format("{}", dim->size()) : dim->label(pick->second);
    });
  }

  std::optional<Table> make(const Place& of) {
    Table table{.name = declared_.name,
                .label = of.labels.empty() ? "" : of.labels.front(),
                .title = in_words(declared_.title, of),
                .lead = declared_.lead};
    for (const std::string& dim : declared_.rows) {
      const std::string name = dim == kHeads            ? "head"
                               : dim == kTasks          ? "task"
                               : dim == "series_metric" ? "metric"
                               : dim == "smaller"       ? "If every head saw less"
                                                        : dim_of(dim);
      table.columns.push_back({.title = name, .number = dim == kHeads || name == "layer"});
    }
    if (!declared_.best.empty()) {
      table.columns.push_back(
          {.title = fmt::format("best {}", intervention_dimension(results_)), .number = false});
    }
    const std::size_t names = table.columns.size();
    const std::vector<MadeColumn> made = columns(of.picks);
    for (const MadeColumn& column : made) table.columns.push_back(column.column);
    std::vector<Place> listed = rows();
    if (!declared_.shown.empty()) keep_shown(listed, of.picks);
    for (Place& row : listed) {
      const Picks judged = joined(of.picks, row.picks);
      if (!declared_.judges.empty() && declared_.lacks.empty() && declared_.has.empty() &&
          !cell(declared_.judges, judged)) {
        continue;
      }
      if (!declared_.only.empty() && !is_one(declared_.only, judged)) continue;
      std::vector<Cell>& cells = table.rows.emplace_back();
      for (std::size_t k = 0; k < row.labels.size(); ++k) {
        cells.push_back({legible(row.labels[k]), static_cast<double>(row.order[k])});
      }
      if (!declared_.best.empty()) {
        const auto best = best_of(row);
        if (!best) {
          table.rows.pop_back();
          continue;
        }
        const Dimension& dim = results_.require_coord(intervention_dimension(results_));
        row.picks.emplace_back(dim.name(), *best);  // which the row outlives
        row.first = *best;
        cells.push_back({legible(dim.label(*best))});
      }
      for (const MadeColumn& column : made) cells.push_back(shown_cell(column, row));
      if (!declared_.faint_unless.empty() && !is_one(declared_.faint_unless, row.picks)) {
        for (Cell& one : cells) one.mark = Mark::faint;
      }
    }
    drop_empty(table, names);
    if (table.columns.size() == names) return std::nullopt;
    if (declared_.sorted) sort(table, names);
    const bool limited = declared_.most > 0 || declared_.rows.front() == kHeads;
    if (limited && most_ > 0 && std::ssize(table.rows) > most_) {
      table.left_out = std::ssize(table.rows) - most_;
      table.rows.resize(static_cast<std::size_t>(most_));
    }
    const bool starred = std::ranges::any_of(table.rows, [](const std::vector<Cell>& row) {
      return std::ranges::count(row, Mark::strong, &Cell::mark) > 0;
    });
    for (const std::string& note : declared_.notes) {
      if (starred || !note.starts_with('*')) table.notes.push_back(in_words(note, of));
    }
    return table;
  }

  // Drops the columns without a value.
  static void drop_empty(Table& table, std::size_t names) {
    for (std::size_t k = table.columns.size(); k-- > names;) {
      const bool empty = std::ranges::all_of(
          table.rows, [&](const std::vector<Cell>& row) { return std::isnan(row[k].value); });
      if (!empty) continue;
      const auto place = static_cast<std::ptrdiff_t>(k);
      table.columns.erase(table.columns.begin() + place);
      for (std::vector<Cell>& row : table.rows) row.erase(row.begin() + place);
    }
  }

  // Puts the rows with the largest value of either sign first, and drops those without any.
  static void sort(Table& table, std::size_t names) {
    const auto largest = [&](const std::vector<Cell>& row) {
      double most = -1;
      for (std::size_t k = names; k < row.size(); ++k) {
        if (table.columns[k].metric == table.columns[names].metric && std::abs(row[k].value) > most)
          most = std::abs(row[k].value);
      }
      return most;
    };
    std::erase_if(table.rows, [&](const auto& row) { return largest(row) < 0; });
    std::ranges::stable_sort(table.rows, std::greater{}, largest);
  }

  const Results& results_;
  const DeclaredTable& declared_;
  Index most_;
  std::optional<LossGains> gains_;  // of a comparison, if a column asks for them
  mutable std::vector<HeadName> heads_;
};

}  // namespace

std::vector<Table> make_tables(const Results& results, const DeclaredTable& declared,
                               std::optional<Index> most) {
  return TableMaker(results, declared, most).all();
}

std::vector<Table> tables(const Results& results, std::optional<Index> most) {
  std::vector<Table> all;
  // A difference of two runs is no change of the model: no declared table is about it.
  if (results.coord("run") != nullptr) return all;
  if (auto roles = roles_table(results)) all.push_back(*std::move(roles));
  for (const DeclaredTable& declared : declared_tables()) {
    for (Table& table : make_tables(results, declared, most)) all.push_back(std::move(table));
  }
  return all;
}

nlohmann::ordered_json to_json(const std::vector<Table>& tables) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Table& table : tables) {
    nlohmann::ordered_json& json = list.emplace_back();
    json = {{"name", table.name}, {"label", table.label}, {"title", table.title}};
    for (const Column& column : table.columns) {
      json["columns"].push_back({{"title", column.title},
                                 {"unit", column.unit},
                                 {"meaning", column.meaning},
                                 {"metric", column.metric},
                                 {"number", column.number}});
    }
    json["rows"] = nlohmann::ordered_json::array();
    for (const std::vector<Cell>& row : table.rows) {
      auto& cells = json["rows"].emplace_back(nlohmann::ordered_json::array());
      for (const Cell& cell : row) {
        cells.push_back(
            {cell.text, json_number(cell.value), kMarks.at(static_cast<std::size_t>(cell.mark))});
      }
    }
    json["notes"] = table.notes;
    json["left_out"] = table.left_out;
    if (table.lead) json["lead"] = true;
  }
  return list;
}

}  // namespace headgauge::view
