// Words for the values of a diff and for limits that are exceeded.
#include <fmt/format.h>

#include <cmath>

#include "headgauge/diff.hpp"

namespace headgauge {

std::string head_text(const Change& change) {
  std::string layer, head = "*";
  for (const auto& [dim, label] : change.labels) {
    if (dim == "layer") layer = label;
    if (dim == "head") head = label;
  }
  return layer.empty() ? "all" : layer + "." + head;
}

std::string value_text(const Change& change, double value) {
  if (change.none == value) return "none";
  return std::isnan(value) ? "-" : fmt::format("{:.4g}", value);
}

namespace {

// Example: "entropy of head 3.5 at length 1024, top_n 20".
std::string cell_text(const Change& change) {
  const std::string head = head_text(change);
  std::string text = change.metric;
  if (head != "all") {
    text +=
        head.ends_with(".*") ? " of layer " + head.substr(0, head.size() - 2) : " of head " + head;
  }
  std::string separator = " at ";
  for (const auto& [dim, label] : change.labels) {
    if (dim == "layer" || dim == "head") continue;
    text += fmt::format("{}{} {}", separator, dim, label);
    separator = ", ";
  }
  return text;
}

// Example: "0.05 and 2 errors of 0.033".
std::string allowed_text(const Limit& limit, const LimitCheck& check) {
  std::string text = fmt::format("{:.4g}", check.allowed);
  if (limit.relative && check.worst.before != 0) {
    text += fmt::format(" ({:g} % of the old value)",
                        100 * check.allowed / std::abs(check.worst.before));
  }
  if (limit.errors > 0 && !std::isnan(check.worst.standard_error)) {
    text += fmt::format(" and {:g} errors of {:.2g}", limit.errors, check.worst.standard_error);
  }
  return text;
}

}  // namespace

std::string exceeded_sentence(const Limit& limit, const LimitCheck& check) {
  const Change& worst = check.worst;
  const auto shown = [&](double value) { return value_text(worst, value); };
  std::string text = fmt::format("limit exceeded: {}: {} -> {}", cell_text(worst),
                                 shown(worst.before), shown(worst.after));
  if (std::isnan(worst.after)) {
    text += ", which is undefined";
  } else if (!check.found_on_one_side) {
    text += fmt::format(", {} of {:.4g} where {} is allowed",
                        worst.change > 0 ? "an increase" : "a decrease", std::abs(worst.change),
                        allowed_text(limit, check));
  }
  if (check.exceeded > 1) {
    text += fmt::format(" (the worst of {} among {} values)", check.exceeded, check.values);
  }
  return text;
}

}  // namespace headgauge
