// Renders the tables of headgauge converge --synthetic.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/table_style.hpp"
#include "cli/tables.hpp"
#include "cli/text_table.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge::cli {
namespace {

std::string number(double value, int digits = 3) {
  return std::isfinite(value) ? fmt::format("{:.{}g}", value, digits) : "-";
}

// Example: "0.493 +- 0.012"; without an error if there is none.
std::string with_error(const Estimate& estimate) {
  if (!std::isfinite(estimate.value)) return "-";
  return std::isfinite(estimate.standard_error)
             ? fmt::format("{:.3f} ±{:.3f}", estimate.value, estimate.standard_error)
             : fmt::format("{:.3f}", estimate.value);
}

std::string scales_table(const Results& results, const TableOptions& options) {
  const auto scales = results.coord_numbers("scale"), tokens = results.coord_numbers("tokens");
  const LabelledArray& mean = *results.metric(metric::error_mean);
  const LabelledArray& covariance = *results.metric(metric::error_covariance);
  const std::string first = fmt::format("n={}", tokens.front());
  const std::string last = fmt::format("n={}", tokens.back());
  std::vector<TextColumn> columns = {{"scale", 9},
                                     {"horizon", 9, "H"},
                                     {"rate", 9, "predicted"},
                                     {"rate of", 13, "mean"},
                                     {"rate of", 13, "covariance"},
                                     {"mean", 8, first},
                                     {"mean", 8, last},
                                     {"cov.", 8, first},
                                     {"cov.", 8, last}};
  for (TextColumn& column : columns) column.unit_style = Style::bold;
  TextTable table(Painter(options.color), columns);
  const Index end = results.coord_size("tokens") - 1;
  for (Index s = 0; s < results.coord_size("scale"); ++s) {
    const auto of = [&](const char* metric) { return results.require_metric(metric).at({s}); };
    table.row({number(scales[s]), number(of(metric::horizon).value),
               number(of(metric::rate_predicted).value), with_error(of(metric::rate_mean)),
               with_error(of(metric::rate_covariance)), number(mean({s, 0})),
               number(mean({s, end})), number(covariance({s, 0})), number(covariance({s, end}))});
  }
  return table.text();
}

// Describes the accuracy of a sampled reference: its largest standard error, as a share of the
// smallest error that it is compared with.
std::string reference_line(const Results& results) {
  std::string text;
  for (const char* kind : {"mean", "covariance"}) {
    const LabelledArray& own = *results.metric(fmt::format("reference_error_{}", kind));
    const LabelledArray& errors = *results.metric(fmt::format("error_{}", kind));
    double share = 0;
    errors.each([&](std::span<const Index> cell, std::size_t at) {
      if (std::isfinite(errors.values[at])) {
        share = std::max(share, own({cell[0]}) / errors.values[at]);
      }
    });
    if (!(share > 0)) continue;
    text += fmt::format("{}{:.2g} % of the smallest error of the {}", text.empty() ? "" : ", ",
                        100 * share, kind);
  }
  return text.empty() ? text : fmt::format("standard error of the reference: {}\n", text);
}

std::string balls_table(const Results& results, const TableOptions& options) {
  if (results.metric(metric::uniform_error) == nullptr) return "";
  const auto radii = results.coord_numbers("radius");
  TextTable table(Painter(options.color),
                  {{"radius R", 9}, {"rate", 13}, {"error*sqrt(n)", 14}, {"predicted", 11}});
  for (std::size_t r = 0; r < radii.size(); ++r) {
    table.row({number(radii[r]),
               with_error(results.require_metric(metric::uniform_rate).at({static_cast<Index>(r)})),
               number(results.metric(metric::uniform_constant)->values[r]),
               number(results.metric(metric::uniform_constant_predicted)->values[r])});
  }
  return fmt::format("\nWorst query of the ball of radius R, at horizon 1 (a lower estimate)\n{}",
                     table.text());
}

std::string hardmax_table(const Results& results, const TableOptions& options) {
  if (results.metric(metric::hardmax_error) == nullptr) return "";
  const auto tokens = results.coord_numbers("tokens");
  TextTable table(Painter(options.color), {{"tokens", 9}, {"error", 13}, {"its law", 11}});
  for (std::size_t p = 0; p < tokens.size(); ++p) {
    table.row(
        {number(tokens[p], 6),
         with_error(results.require_metric(metric::hardmax_error).at({static_cast<Index>(p)})),
         fmt::format("{:.3f}", results.metric(metric::hardmax_error_predicted)->values[p])});
  }
  return fmt::format("\nHardmax limit: the token with the largest score, over sqrt(2 log n)\n{}",
                     table.text());
}

}  // namespace

std::string render_simulation(const Results& results, const TableOptions& options) {
  const auto& settings = results.settings;
  std::string text = fmt::format(
      "{} tokens of dimension {} under {}, {} replicates; reference: {}\n"
      "errors are relative: to the spread of the limit, and to the norm of its covariance\n\n",
      settings["synthetic"].get<std::string>(), settings["dimension"].get<int>(),
      settings["normalizer"].get<std::string>(), settings["replicates"].get<int>(),
      settings.value("reference_method", std::string("none")));
  text += scales_table(results, options) + reference_line(results) + balls_table(results, options) +
          hardmax_table(results, options);
  return text + "\n";
}

}  // namespace headgauge::cli
