// Renders the table of heads.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "cli/table_style.hpp"
#include "cli/tables.hpp"
#include "cli/text_table.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/flags.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kHeadWidth = 5;
constexpr std::size_t kFoldedFrom = 61;  // number of heads that are shown only if asked for

// Returns whether the metric has one value per head, apart from length and from N (if the table
// shows it at the N at which separability is judged).
bool is_of_head(const Results& results, const std::string& metric) {
  using Dims = std::vector<std::string>;
  const Dims dims = results.require_metric(metric).dim_names();
  if (dims == Dims{"layer", "head", "length"} || dims == Dims{"layer", "head"}) return true;
  return dims == Dims{"layer", "head", "length", "top_n"} && judged_top_n(results).has_value();
}

std::vector<std::string> sortable(const Results& results) {
  std::vector<std::string> names;
  for (const auto& [name, metric] : results.metrics) {
    if (is_of_head(results, name)) names.push_back(name);
  }
  return names;
}

class Table {
 public:
  Table(const Results& results, const TableOptions& options)
      : results_(results), options_(options), paint_(options.color) {
    if (!options.sort.empty()) require_sortable(results, options.sort);
    heads_ = measured_heads(results);
    measured_ = heads_.size();
    sort_heads();
    if (options.top > 0 && static_cast<std::size_t>(options.top) < heads_.size()) {
      heads_.resize(static_cast<std::size_t>(options.top));
    }
    choose_columns();
  }

  std::string text() const {
    if (columns_.empty() && results_.flags.empty() &&
        results_.metric(metric::role_chance) == nullptr) {
      std::set<std::string> groups = {"roles"};
      for (const Column& column : head_columns()) groups.insert(metric_info(column.metric).group);
      return wrapped(fmt::format("No table of heads, for none of the groups {} was measured. Other "
                                 "metrics of heads are in results.json: add --out DIR, or --json.",
                                 fmt::join(groups, ", ")),
                     options_.width, 0) +
             "\n\n";
    }
    if (is_folded()) {
      return note(fmt::format("{} heads: --all shows each, --sort METRIC --top 20 the first by a "
                              "metric",
                              measured_)) +
             "\n";
    }
    const TextTable table = rows();
    std::string out = table.text();
    if (heads_.size() < measured_) {
      out += note(fmt::format("{} of {} heads are shown", heads_.size(), measured_));
    }
    return out + "\n";
  }

 private:
  bool is_folded() const {
    return !options_.all && options_.sort.empty() && options_.top == 0 && measured_ >= kFoldedFrom;
  }
  void sort_heads();
  void choose_columns();
  std::string note(const std::string& text) const { return paint_(Style::faint, text) + "\n"; }
  TextTable rows() const;
  std::vector<TextCell> row(const HeadName& head) const;
  std::vector<std::string> flags_of(const HeadName& head) const;
  std::string joined(const std::vector<std::string>& names) const;

  const Results& results_;
  const TableOptions& options_;
  Painter paint_;
  std::vector<HeadName> heads_;
  std::size_t measured_ = 0;
  std::vector<Column> columns_;
  std::size_t flag_width_ = 0;
};

// A flag of other programs is none.
bool is_role(const std::string& flag) {
  const auto info = std::ranges::find(flag_infos(), flag, &FlagInfo::name);
  return info != flag_infos().end() && info->role;
}

void Table::sort_heads() {
  if (options_.sort.empty()) return;
  const auto key = [&](const HeadName& head) {
    const auto cell = find_judged_cell(results_, options_.sort, head);
    return cell ? cell->value : -INFINITY;  // undefined values last
  };
  std::stable_sort(heads_.begin(), heads_.end(),
                   [&](const HeadName& a, const HeadName& b) { return key(a) > key(b); });
}

void Table::choose_columns() {
  const auto top_n = judged_top_n(results_);
  const auto defined = [&](const std::string& metric) {
    return std::any_of(heads_.begin(), heads_.end(), [&](const HeadName& head) {
      return find_judged_cell(results_, metric, head).has_value();
    });
  };
  for (const Column& column : head_columns()) {
    if (!defined(column.metric)) continue;
    columns_.push_back(column);
    std::string& unit = columns_.back().unit;
    if (unit.find('{') == unit.npos) continue;
    unit = fmt::format(fmt::runtime(unit),
                       results_.coord_numbers("top_n")[static_cast<std::size_t>(top_n.value())]);
  }
  const bool shown = std::any_of(columns_.begin(), columns_.end(), [&](const Column& column) {
    return column.metric == options_.sort;
  });
  if (!options_.sort.empty() && !shown) {
    // The name, broken at its last underscore, makes the two lines of the heading.
    const std::size_t cut = options_.sort.rfind('_');
    Column column{options_.sort, options_.sort.substr(0, cut),
                  cut == std::string::npos ? "" : options_.sort.substr(cut + 1), 5};
    std::erase_if(columns_, [](const Column& c) { return c.aside; });
    column.title = shortened(column.title, 12);
    column.unit = shortened(column.unit, 12);
    column.width = std::max({column.width, text_width(column.title), text_width(column.unit)});
    columns_.insert(columns_.begin(), column);
  }
  std::size_t used = kHeadWidth + kGap;
  for (const Column& column : columns_) used += column.width + kGap;
  flag_width_ = kTableWidth - std::min(used, kTableWidth);
}

TextTable Table::rows() const {
  std::vector<TextColumn> columns = {
      {.title = "layer", .width = kHeadWidth, .unit = ".head", .unit_style = Style::bold}};
  for (const Column& column : columns_) {
    columns.push_back({.title = column.title, .width = column.width, .unit = column.unit});
  }
  columns.push_back(left_column("roles, flags"));
  for (TextColumn& column : columns) column.gap = kGap;
  TextTable table(paint_, columns);
  for (std::size_t h = 0; h < heads_.size(); ++h) {
    const bool new_layer =
        h > 0 && options_.sort.empty() && heads_[h].layer_index != heads_[h - 1].layer_index;
    if (new_layer) table.row({});
    table.row(row(heads_[h]));
  }
  return table;
}

// Returns the roles of a head, then its other flags.
std::vector<std::string> Table::flags_of(const HeadName& head) const {
  std::vector<std::string> names;
  for (const Flag& flag : results_.flags) {
    if (flag.layer == head.layer && flag.head == head.head) names.push_back(flag.name);
  }
  std::ranges::stable_partition(names, is_role);
  return names;
}

// Joins as many names as there is room for, and the number of the others.
std::string Table::joined(const std::vector<std::string>& names) const {
  std::string text;
  for (std::size_t k = 0; k < names.size(); ++k) {
    const char* const gap = text.empty() ? "" : " ";
    const std::string longer = text + gap + names[k];
    const std::size_t count = k + 1 == names.size() ? 0 : 3;  // " +2" of those that follow
    if (longer.size() + count > flag_width_) {
      return text + gap + fmt::format("+{}", names.size() - k);
    }
    text = longer;
  }
  return text;
}

std::vector<TextCell> Table::row(const HeadName& head) const {
  const auto names = flags_of(head);
  std::vector<TextCell> cells = {head.text()};
  for (const Column& column : columns_) {
    const auto cell = find_judged_cell(results_, column.metric, head);
    const bool flagged = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      const MetricInfo* of = metric_of_flag(name);
      return of != nullptr && of->name == column.judged_by;
    });
    const bool faint = !cell || column.aside;
    cells.emplace_back(cell ? value_text(results_, *cell) : "-", flagged ? Style::warning
                                                                 : faint ? Style::faint
                                                                         : Style::plain);
  }
  if (!names.empty()) cells.emplace_back(joined(names));
  return cells;
}

}  // namespace

void require_sortable(const Results& results, const std::string& metric) {
  if (results.metric(metric) != nullptr && is_of_head(results, metric)) return;
  const std::vector<std::string> names = sortable(results);
  throw UsageError(fault("--sort", "a metric of heads",
                         in_quotes(metric) + metric_hint(metric, names),
                         fmt::format("choose one of {}", fmt::join(names, ", "))));
}

std::string render_table(const Results& results, const TableOptions& options) {
  const Table table(results, options);
  return table.text();
}

}  // namespace headgauge::cli
