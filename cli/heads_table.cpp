// Renders the table of heads.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "cli/overview.hpp"
#include "cli/table_header.hpp"
#include "cli/table_style.hpp"
#include "cli/tables.hpp"
#include "cli/text_table.hpp"
#include "headgauge/advice.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/flags.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kHeadWidth = 5;
constexpr std::size_t kRoleWidth = 9;
constexpr std::size_t kFoldedFrom = 61;  // number of heads from which the overview replaces rows

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
    place_flags();
  }

  std::string text() const {
    if (columns_.empty() && results_.flags.empty() && !has_roles_) {
      return "No table of heads, for none of the groups weights, distance, separability, "
             "dispersion "
             "and\nroles was measured. Other metrics of heads are in results.json: add --out DIR, "
             "or "
             "--json.\n\n";
    }
    if (is_folded()) {
      const TextTable layers = layer_table(results_, heads_, columns_, paint_);
      return what_stands_out(results_, measured_, paint_) + layers.text() +
             (open_legend(results_).empty() ? "" : note(open_legend(results_))) +
             note(fmt::format("{} heads are folded: --all shows each, --sort METRIC --top 20 the "
                              "first by a metric",
                              measured_)) +
             "\n" + layers.legend(options_.width) + flag_legend() + "\n";
    }
    const TextTable table = rows();
    std::string out = table.text();
    if (heads_.size() < measured_) {
      out += note(fmt::format("{} of {} heads are shown", heads_.size(), measured_));
    }
    return out + "\n" + table.legend(options_.width) + flag_legend() + "\n";
  }

 private:
  bool is_folded() const {
    return !options_.all && options_.sort.empty() && options_.top == 0 && measured_ >= kFoldedFrom;
  }
  void sort_heads();
  void choose_columns();
  void place_flags();
  std::string note(const std::string& text) const { return paint_(Style::faint, text) + "\n"; }
  TextTable rows() const;
  std::vector<TextCell> row(const HeadName& head) const;
  std::vector<std::string> flags_of(const HeadName& head) const;
  std::string roles_of(const HeadName& head) const;
  std::string flag_column(const std::vector<std::string>& names) const;
  std::string flag_legend() const;

  const Results& results_;
  const TableOptions& options_;
  Painter paint_;
  std::vector<HeadName> heads_;
  std::size_t measured_ = 0;
  std::vector<Column> columns_;
  bool has_roles_ = false;
  std::size_t flag_width_ = 0;
  std::vector<std::pair<std::string, std::size_t>> flag_places_;  // name, first column
};

// Returns null for a flag of other programs.
const FlagInfo* find_info(const std::string& flag) {
  const auto info = std::ranges::find(flag_infos(), flag, &FlagInfo::name);
  return info == flag_infos().end() ? nullptr : &*info;
}

bool is_role(const std::string& flag) {
  const FlagInfo* info = find_info(flag);
  return info != nullptr && info->role;
}

void Table::sort_heads() {
  if (options_.sort.empty()) return;
  const auto key = [&](const HeadName& head) {
    const auto cell = value_of(results_, options_.sort, head);
    return cell ? cell->value : -INFINITY;  // undefined values last
  };
  std::stable_sort(heads_.begin(), heads_.end(),
                   [&](const HeadName& a, const HeadName& b) { return key(a) > key(b); });
}

void Table::choose_columns() {
  const auto top_n = judged_top_n(results_);
  const auto defined = [&](const std::string& metric) {
    return std::any_of(heads_.begin(), heads_.end(), [&](const HeadName& head) {
      return value_of(results_, metric, head).has_value();
    });
  };
  for (const Column& column : head_columns()) {
    if (!defined(column.metric)) continue;
    columns_.push_back(column);
    std::string& unit = columns_.back().unit;
    if (unit.find('{') == unit.npos) continue;
    unit = top_n ? fmt::format(fmt::runtime(unit),
                               results_.coord_numbers("top_n")[static_cast<std::size_t>(*top_n)])
                 : "";
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
  has_roles_ = std::any_of(results_.flags.begin(), results_.flags.end(),
                           [](const Flag& flag) { return is_role(flag.name); }) ||
               (columns_.empty() && results_.metric(metric::role_chance) != nullptr);
  if (has_roles_) used += kRoleWidth + kGap;
  flag_width_ = kTableWidth - std::min(used, kTableWidth);
}

TextTable Table::rows() const {
  std::vector<TextColumn> columns = {
      {.title = "layer", .width = kHeadWidth, .unit = ".head", .unit_style = Style::bold}};
  for (const Column& column : columns_) columns.push_back(metric_column(column));
  if (has_roles_) columns.push_back(left_column("role", kRoleWidth));
  columns.push_back(left_column("flags"));
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

std::vector<std::string> Table::flags_of(const HeadName& head) const {
  std::vector<std::string> names;
  for (const Flag& flag : results_.flags) {
    if (is_role(flag.name)) continue;
    if (flag.layer == head.layer && flag.head == head.head) names.push_back(flag.name);
  }
  return names;
}

std::string Table::roles_of(const HeadName& head) const {
  std::string roles;
  for (const Flag& flag : results_.flags) {
    if (flag.layer == head.layer && flag.head == head.head && is_role(flag.name)) {
      roles += (roles.empty() ? "" : " ") + flag.name;
    }
  }
  return shortened(roles, kRoleWidth);
}

// Returns the names: each kind of flag in its own column if there is room, else one after
// another, followed by the number of omitted flags.
std::string Table::flag_column(const std::vector<std::string>& names) const {
  std::string text;
  if (!flag_places_.empty()) {
    for (const auto& [name, place] : flag_places_) {
      if (std::find(names.begin(), names.end(), name) == names.end()) continue;
      text.resize(place, ' ');
      text += name;
    }
    return text;
  }
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

// Flags that exclude each other, above one cutoff of a metric or below another, share a column.
void Table::place_flags() {
  std::size_t place = 0;
  for (const FlagInfo& info : flag_infos()) {
    const bool raised = std::any_of(results_.flags.begin(), results_.flags.end(),
                                    [&](const Flag& flag) { return flag.name == info.name; });
    if (!raised || info.role) continue;
    const FlagInfo* const last =
        flag_places_.empty() ? nullptr : &flag_info(flag_places_.back().first);
    const bool shares = last != nullptr && last->metric == info.metric &&
                        last->rule == FlagInfo::Rule::above && info.rule == FlagInfo::Rule::below &&
                        info.cutoff <= last->cutoff;
    flag_places_.emplace_back(info.name, shares ? flag_places_.back().second : place);
    place = std::max(place, flag_places_.back().second + info.name.size() + 1);
  }
  if (place > flag_width_ + 1) flag_places_.clear();
}

std::vector<TextCell> Table::row(const HeadName& head) const {
  const auto names = flags_of(head);
  std::vector<TextCell> cells = {head.text()};
  for (const Column& column : columns_) {
    const auto cell = value_of(results_, column.metric, head);
    const bool flagged = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      const MetricInfo* of = metric_of_flag(name);
      return of != nullptr && of->name == column.judged_by;
    });
    const bool faint = !cell || column.aside;
    cells.emplace_back(cell ? value_text(results_, *cell) : "-", flagged ? Style::warning
                                                                 : faint ? Style::faint
                                                                         : Style::plain);
  }
  const std::string flags = flag_column(names), role = roles_of(head);
  if (has_roles_) cells.emplace_back(role.empty() ? "-" : role);
  if (!flags.empty()) cells.emplace_back(flags, Style::warning);
  return cells;
}

std::string Table::flag_legend() const {
  std::string out;
  for (const FlagInfo& info : flag_infos()) {
    const Index count = count_flags(results_, info.name);
    if (count == 0) continue;
    const auto first = std::ranges::find(results_.flags, info.name, &Flag::name);
    const std::string meaning = fmt::format("{} of {} heads: {}. {}", count, measured_, info.meaning, info.means);
    const std::string next = command_in(info.next, fmt::format("{}.{}", first->layer, first->head));
    out += legend_line(paint_, info.role ? Style::plain : Style::warning, info.name, meaning,
                       options_.width) +
           legend_line(paint_, Style::plain, "", next, options_.width);
  }
  return out.empty() ? out : "\n" + out;
}

}  // namespace

void require_sortable(const Results& results, const std::string& metric) {
  if (results.metric(metric) != nullptr && is_of_head(results, metric)) return;
  const std::vector<std::string> names = sortable(results);
  throw UsageError(fault("--sort", fmt::format("one of {}", fmt::join(names, ", ")),
                         in_quotes(metric) + metric_hint(metric, names), "choose one of these"));
}

std::string render_table(const Results& results, const TableOptions& options) {
  const Table table(results, options);
  return render_header(results, Painter(options.color), options.width) + table.text();
}

}  // namespace headgauge::cli
