#include "cli/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "cli/columns.hpp"
#include "cli/overview.hpp"
#include "cli/table_header.hpp"
#include "cli/table_style.hpp"
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
    if (is_folded()) columns_ = fitting_columns(std::move(columns_));
    place_flags();
  }

  std::string text() const {
    if (columns_.empty() && results_.flags.empty() && !has_roles_) {
      return "This table shows the groups weights, distance, separability, dispersion and roles, "
             "and none of\nthem was measured. The others are in results.json: add --out DIR, or "
             "--json.\n\n";
    }
    if (is_folded()) {
      return render_overview(results_, heads_, columns_, paint_) + column_legend() + flag_legend() +
             "\n";
    }
    std::string out = header();
    for (std::size_t h = 0; h < heads_.size(); ++h) {
      const bool new_layer =
          h > 0 && options_.sort.empty() && heads_[h].layer_index != heads_[h - 1].layer_index;
      if (new_layer) out += "\n";
      out += row(heads_[h]);
    }
    if (heads_.size() < measured_) {
      out +=
          paint_(Style::faint, fmt::format("{} of {} heads are shown", heads_.size(), measured_)) +
          "\n";
    }
    return out + column_legend() + flag_legend() + "\n";
  }

 private:
  bool is_folded() const {
    return !options_.all && options_.sort.empty() && options_.top == 0 && measured_ >= kFoldedFrom;
  }
  void sort_heads();
  void choose_columns();
  void place_flags();
  std::string header() const;
  std::string row(const HeadName& head) const;
  std::string cell_text(const Column& column, const HeadName& head) const;
  std::vector<std::string> flags_of(const HeadName& head) const;
  std::string roles_of(const HeadName& head) const;
  std::string flag_column(const std::vector<std::string>& names) const;
  std::string column_legend() const;
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

std::string short_name(const std::string& flag) {
  const FlagInfo* info = find_info(flag);
  return info == nullptr ? flag : info->short_name;
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

std::string Table::header() const {
  std::string first = paint_.right(Style::bold, "layer", kHeadWidth);
  std::string second = paint_.right(Style::bold, ".head", kHeadWidth);
  const std::string gap(kGap, ' ');
  for (const Column& column : columns_) {
    first += gap + paint_.right(Style::bold, column.title, column.width);
    second += gap + paint_.right(Style::faint, column.unit, column.width);
  }
  if (has_roles_) first += gap + paint_.left(Style::bold, "role", kRoleWidth);
  return first + gap + paint_(Style::bold, "flags") + "\n" + second + "\n";
}

std::string Table::cell_text(const Column& column, const HeadName& head) const {
  const auto cell = value_of(results_, column.metric, head);
  return cell ? value_text(results_, *cell) : "-";
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
      roles += (roles.empty() ? "" : " ") + short_name(flag.name);
    }
  }
  return shortened(roles, kRoleWidth);
}

// Returns the short names: each kind of flag in its own column if there is room, else one after
// another, followed by the number of omitted flags.
std::string Table::flag_column(const std::vector<std::string>& names) const {
  std::string text;
  if (!flag_places_.empty()) {
    for (const auto& [name, place] : flag_places_) {
      if (std::find(names.begin(), names.end(), name) == names.end()) continue;
      text.resize(place, ' ');
      text += short_name(name);
    }
    return text;
  }
  for (std::size_t k = 0; k < names.size(); ++k) {
    const std::string longer = text + (k == 0 ? "" : " ") + short_name(names[k]);
    const std::size_t room = k + 1 == names.size() ? flag_width_ : flag_width_ - 3;
    if (longer.size() > room) return text + fmt::format(" +{}", names.size() - k);
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
    place = std::max(place, flag_places_.back().second + info.short_name.size() + 1);
  }
  if (place > flag_width_ + 1) flag_places_.clear();
}

std::string Table::row(const HeadName& head) const {
  const auto names = flags_of(head);
  const std::string gap(kGap, ' ');
  std::string line = paint_.right(Style::plain, head.text(), kHeadWidth);
  for (const Column& column : columns_) {
    const std::string text = cell_text(column, head);
    const bool flagged = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      const MetricInfo* of = metric_of_flag(name);
      return of != nullptr && of->name == column.judged_by;
    });
    const bool faint = text == "-" || column.aside;
    const Style style = flagged ? Style::warning : faint ? Style::faint : Style::plain;
    line += gap + paint_.right(style, text, column.width);
  }
  const std::string flags = flag_column(names), role = roles_of(head);
  if (has_roles_) {
    const std::string shown = role.empty() ? "-" : role;
    line += gap + (flags.empty() ? shown : paint_.left(Style::plain, shown, kRoleWidth));
  }
  if (!flags.empty()) line += gap + paint_(Style::warning, flags);
  return line + "\n";
}

std::string Table::column_legend() const {
  std::string out = "\n";
  for (const Column& column : columns_) {
    if (column.metric == options_.sort && find_metric_info(column.metric) == nullptr) continue;
    out += metric_legend(paint_, column.title, column.metric, options_.width);
  }
  return out;
}

std::string Table::flag_legend() const {
  std::string out;
  for (const FlagInfo& info : flag_infos()) {
    const Index count = count_flags(results_, info.name);
    if (count == 0) continue;
    const auto first = std::ranges::find(results_.flags, info.name, &Flag::name);
    const std::string meaning = fmt::format("{}, {} of {} heads: {}. {}", info.name, count,
                                            measured_, info.meaning, info.means);
    const std::string next = command_in(info.next, fmt::format("{}.{}", first->layer, first->head));
    out += legend_line(paint_, info.role ? Style::plain : Style::warning, info.short_name, meaning,
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
                         in_quotes(metric) + did_you_mean(metric, names), "choose one of these"));
}

std::string render_table(const Results& results, const TableOptions& options) {
  const Table table(results, options);
  return render_header(results, Painter(options.color), options.width) + table.text();
}

}  // namespace headgauge::cli
