#include "view/shown.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <stdexcept>

namespace headgauge::view {
namespace {

struct Form {
  double scale;       // of the value
  const char* value;  // format of the value
  const char* part;   // format of an error
};

const Form& form_of(const std::string& name) {
  static const std::map<std::string, Form> forms = {
      {"nats", {1, "{:+.4f}", "{:.4f}"}},        {"signed", {1, "{:+.2f}", "{:.2f}"}},
      {"fixed", {1, "{:.2f}", "{:.2f}"}},        {"fixed3", {1, "{:.3f}", "{:.3f}"}},
      {"fixed4", {1, "{:.4f}", "{:.4f}"}},       {"whole", {1, "{:.0f}", "{:.0f}"}},
      {"percent", {100, "{:.0f}", "{:.0f}"}},    {"percent1", {100, "{:.1f}", "{:.1f}"}},
      {"digits", {1, "{:.3g}", "{:.2g}"}},       {"digits4", {1, "{:.4g}", "{:.4g}"}},
      {"megabytes", {1e-6, "{:.3g}", "{:.3g}"}}, {"change", {1, "{:+.3g}", "{:.2g}"}},
      {"slope", {1, "{:+.2g}", "{:.2g}"}},       {"plain", {1, "{}", "{}"}}};
  const auto found = forms.find(name);
  if (found == forms.end()) throw std::logic_error("catalogue: no way to show \"" + name + "\"");
  return found->second;
}

}  // namespace

std::string shown(const Results& results, const MetricCell& cell, const DeclaredColumn& column,
                  double whole) {
  const bool rounds = column.show == "number" || column.show == "rounded percent";
  const double scale = column.show == "rounded percent" ? 100 : 1;
  const auto one = [&](double value, bool is_part = false) {
    if (rounds) return rounded(scale * value / whole);
    const Form& form = form_of(column.show);
    const auto format = fmt::runtime(is_part ? form.part : form.value);
    const double scaled = form.scale * value / whole;
    const std::string text = fmt::format(format, scaled);
    const bool is_zero = std::isfinite(scaled) && text.find_first_of("123456789") == text.npos;
    return is_zero ? fmt::format(format, 0.0) : text;  // without the sign of what was rounded
  };
  if (rounds && whole == 1 && cell.metric == column.metric && !cell.index.empty()) {
    if (results.require_metric(cell.metric).none) return value_text(results, cell);
  }
  std::string text = one(cell.value);
  if (column.error && std::isfinite(cell.standard_error)) {
    text += " ± " + one(cell.standard_error, true);
  }
  if (column.interval && cell.has_interval()) {
    text += fmt::format(" ({} to {})", one(cell.low), one(cell.high));
  }
  return text;
}

}  // namespace headgauge::view
