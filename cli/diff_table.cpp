// Renders the comparison of two runs: their settings, and the values that changed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/run_lines.hpp"
#include "cli/table_style.hpp"
#include "cli/tables.hpp"
#include "cli/text_table.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kDiffLabel = 10;

// Shows four digits, so that a change in the third is visible.
std::string four_digits(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.4g}", value);
}

std::string change_text(const Change& change) {
  const std::string text = fmt::format("{:+.3g}", change.change);
  return std::isnan(change.standard_error)
             ? text
             : fmt::format("{} ± {:.2g}", text, change.standard_error);
}

std::string errors_text(const Change& change) {
  constexpr double kMost = 1000;
  if (std::isinf(change.errors)) return "-";
  return change.errors >= kMost ? fmt::format(">{:.0f}", kMost)
                                : fmt::format("{:.1f}", change.errors);
}

std::string p_text(const Change& change) {
  return std::isinf(change.errors) ? "exact" : fmt::format("{:.1g}", change.adjusted_p);
}

// Example: "L=1024 N=20".
std::string place_text(const Change& change) {
  static const std::map<std::string, std::string> brief = {
      {"length", "L"},           {"top_n", "N"}, {"temperature", "T"}, {"epsilon", "step"},
      {"forecast_length", "at"}, {"tokens", "n"}};
  std::string text;
  for (const auto& [dim, label] : change.labels) {
    if (dim == "layer" || dim == "head") continue;
    const auto it = brief.find(dim);
    text += (text.empty() ? "" : " ") + (it == brief.end() ? dim : it->second) + "=" + label;
  }
  return text;
}

class DiffTable {
 public:
  DiffTable(const Results& diff, const ChangeList& list, const TableOptions& options)
      : diff_(diff), list_(list), options_(options), paint_(options.color) {}

  std::string text() const {
    std::string out = header() + "\n";
    if (list_.values > 0) out += measured();
    if (list_.unmeasured_values > 0) out += unmeasured();
    return out + flags("gained") + flags("lost");
  }

 private:
  std::string line(const char* label, const std::string& text) const {
    return paint_.entry(Style::faint, label, text, options_.width, kDiffLabel);
  }

  std::string sentence(const std::string& text) const {
    return wrapped(text, options_.width, 0) + "\n";
  }

  std::string header() const {
    std::string compared;
    for (const char* coord : {"layer", "head", "length"}) {
      if (diff_.coord(coord) == nullptr) continue;
      compared += fmt::format("{}s {}; ", coord, labels_text(diff_.coord(coord)->labels()));
    }
    std::size_t metrics = 0;
    for (const auto& [name, metric] : diff_.metrics) {
      metrics += metric.has_dim("run") ? 1 : 0;
    }
    compared += fmt::format("{} metric{}", metrics, metrics == 1 ? "" : "s");
    std::string pairs;
    if (diff_.settings.contains("pairs")) {
      pairs = fmt::format("changes on {} texts, each by itself", diff_.settings["pairs"].dump());
    }
    return run_lines({"old", "new"}, {diff_.settings["old"], diff_.settings["new"]}, paint_,
                     options_.width) +
           line("pairs", pairs) + line("compared", compared) + line("loss", loss_text());
  }

  // Example: "4.553 -> 4.561 (+0.0083 ± 0.12) at L = 1024".
  std::string loss_text() const {
    const auto loss = find_cell(diff_, metric::loss, {{"run", 0}});
    const auto change = find_cell(diff_, metric::loss_change, {});
    if (!loss || !change) return "";
    return fmt::format("{} -> {} ({}) at L = {}", four_digits(loss->value),
                       four_digits(loss->value + change->value), with_error(*change),
                       *longest_length(diff_));
  }

  std::string measured() const {
    const std::string rate = fmt::format("false discovery rate {:g} %", 100 * list_.level);
    std::string text =
        list_.changed == 0
            ? fmt::format("None of {} values changed beyond chance ({}).", list_.values, rate)
            : fmt::format("{} of {} values changed, at most {:.0f} of them by chance ({}).",
                          list_.changed, list_.values, std::ceil(list_.by_chance), rate);
    if (list_.too_few > 0) {
      text += fmt::format(" {} more are left aside: too few rows for an error.", list_.too_few);
    }
    if (list_.changed == 0) return sentence(text) + "\n";
    return sentence(text + " The largest of each metric and head:") + "\n" +
           table(list_.measured, true);
  }

  std::string unmeasured() const {
    std::string text = fmt::format(
        "{} of {} values without standard errors changed",
        list_.unmeasured_changed == 0 ? "None" : fmt::format("{}", list_.unmeasured_changed),
        list_.unmeasured_values);
    if (list_.unmeasured_changed == 0) return sentence(text + ".") + "\n";
    return sentence(text +
                    ". The largest of each metric and head, relative to the largest value of the "
                    "metric:") +
           "\n" + table(list_.unmeasured, false);
  }

  std::string table(const std::vector<Change>& changes, bool measured) const {
    const std::size_t shown = options_.top > 0
                                  ? std::min(changes.size(), static_cast<std::size_t>(options_.top))
                                  : changes.size();
    std::vector<TextColumn> columns = {
        {measured ? "p" : "relative"},
        {.title = "errors", .rank = 4},
        {"head"},
        left_column("metric"),
        {.title = "old", .rank = 3},
        {.title = "new", .rank = 3},
        {.title = measured ? "change ± se" : "change", .rank = 1},
        left_column("where"),
        {.title = "values", .rank = 5},
    };
    if (!measured) columns.erase(columns.begin() + 1);
    for (TextColumn& column : columns) column.gap = kGap;
    TextTable table(paint_, columns);
    for (const Change& change : std::span(changes).first(shown)) {
      std::vector<TextCell> row = {measured ? p_text(change)
                                            : fmt::format("{:.1f} %", 100 * change.relative)};
      if (measured) row.emplace_back(errors_text(change));
      for (const std::string& text :
           {head_text(change), change.metric, value_text(change, change.before),
            value_text(change, change.after), change_text(change), place_text(change),
            fmt::format("{}/{}", change.changed, change.values)}) {
        row.emplace_back(shortened(text, kTableWidth));
      }
      table.row(std::move(row));
    }
    table.fit(options_.width);
    return table.text() + lines_left(paint_, changes.size() - shown) + "\n";
  }

  std::string flags(const std::string& change) const {
    std::map<std::string, std::vector<std::string>> heads;
    for (const Flag& flag : diff_.flags) {
      if (flag.change == change) {
        heads[flag.name].push_back(fmt::format("{}.{}", flag.layer, flag.head));
      }
    }
    if (heads.empty()) return "";
    std::vector<std::string> parts;
    for (const auto& [name, list] : heads) {
      parts.push_back(fmt::format("{} {}", legible(name), fmt::join(list, " ")));
    }
    return sentence(fmt::format("Flags {}: {}.", change, fmt::join(parts, ", ")));
  }

  const Results& diff_;
  const ChangeList& list_;
  const TableOptions& options_;
  Painter paint_;
};

}  // namespace

std::string render_diff(const Results& diff, const ChangeList& list, const TableOptions& options) {
  return DiffTable(diff, list, options).text();
}

std::string limits_hold(std::span<const LimitCheck> checks) {
  std::int64_t values = 0, unchecked = 0;
  for (const LimitCheck& check : checks) {
    values += check.values;
    unchecked += check.unchecked;
  }
  const std::string all =
      checks.size() == 1 ? "the limit holds" : fmt::format("all {} limits hold", checks.size());
  return fmt::format(
      "{} ({} value{} checked{})", all, values, values == 1 ? "" : "s",
      unchecked > 0 ? fmt::format("; {} undefined in the old file were not", unchecked) : "");
}

}  // namespace headgauge::cli
