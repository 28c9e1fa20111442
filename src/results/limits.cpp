// Reads the file of limits. Every fault throws a BadInputError that names the place, because a
// misread limit would go unchecked.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <set>

#include "base/file.hpp"
#include "base/strict_json.hpp"
#include "headgauge/diff.hpp"
#include "headgauge/text.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "headgauge.limits/";
constexpr int kMajor = 1;
constexpr const char* kLimitsAdvice = "correct the limits";

[[noreturn]] void fail_limit(const std::string& where, const std::string& expected,
                             const std::string& found) {
  throw BadInputError(fault(where, expected, found, kLimitsAdvice));
}

void refuse_other_keys(const Json& json, const std::string& where,
                       const std::set<std::string>& known) {
  for (const auto& [key, value] : json.items()) {
    if (known.contains(key)) continue;
    fail_limit(where, fmt::format("one of the keys {}", fmt::join(known, ", ")),
               in_quotes(key) + did_you_mean(key, {known.begin(), known.end()}));
  }
}

void check_schema(const Json& root, const std::string& where) {
  const auto it = root.find("schema");
  const std::string expected = fmt::format("the key \"schema\" with \"{}{}\"", kFormat, kMajor);
  if (it == root.end()) fail_limit(where, expected, "no such key");
  const std::string schema = it->is_string() ? it->get<std::string>() : "";
  int major = 0;
  if (schema.starts_with(kFormat)) {
    const char* const end = schema.data() + schema.size();
    const auto [stop, error] = std::from_chars(schema.data() + kFormat.size(), end, major);
    if (error != std::errc{} || stop != end) major = 0;
  }
  if (major < 1) fail_limit(where, expected, describe(*it));
  if (major > kMajor) {
    throw UnsupportedError(fault(where, fmt::format("\"{}{}\" or older", kFormat, kMajor),
                                 describe(*it), "read it with a newer headgauge"));
  }
}

std::string text_at(const Json& json, const std::string& where) {
  if (!json.is_string() || json.get_ref<const std::string&>().empty()) {
    fail_limit(where, "some text", describe(json));
  }
  return json.get<std::string>();
}

double amount_at(const Json& json, const std::string& where) {
  if (!json.is_number() || !(json.get<double>() >= 0) || !std::isfinite(json.get<double>())) {
    fail_limit(where, "a number of at least 0", describe(json));
  }
  return json.get<double>();
}

// One label or a list of them, all numbers or all names.
Coordinate labels_at(const Json& json, const std::string& where) {
  std::vector<Json> items;
  if (json.is_array()) {
    items.assign(json.begin(), json.end());
  } else {
    items.push_back(json);
  }
  const std::string expected = "a label, or a list of labels, all numbers or all names";
  if (items.empty()) fail_limit(where, expected, "an empty list");
  std::vector<double> numbers;
  std::vector<std::string> names;
  for (const Json& item : items) {
    if (item.is_number()) {
      numbers.push_back(item.get<double>());
    } else if (item.is_string()) {
      names.push_back(item.get<std::string>());
    } else {
      fail_limit(where, expected, describe(item));
    }
  }
  if (!numbers.empty() && !names.empty()) fail_limit(where, expected, "both");
  if (names.empty()) return numbers;
  return names;
}

Limit limit_at(const Json& json, const std::string& place) {
  if (!json.is_object()) fail_limit(place, "an object", describe(json));
  refuse_other_keys(
      json, place,
      {"metric", "heads", "where", "max_increase", "max_decrease", "relative", "errors"});
  Limit limit;
  limit.place = place;
  const auto with = [&](const char* key, const auto& read) {
    const auto it = json.find(key);
    if (it != json.end()) read(*it, place + ": " + key);
    return it != json.end();
  };
  if (!with("metric", [&](const Json& j, const std::string& w) { limit.metric = text_at(j, w); })) {
    fail_limit(place, "a key \"metric\"", "none");
  }
  with("heads", [&](const Json& j, const std::string& w) { limit.heads = text_at(j, w); });
  with("where", [&](const Json& j, const std::string& w) {
    if (!j.is_object()) fail_limit(w, "an object: dimension -> label", describe(j));
    for (const auto& [dim, labels] : j.items()) {
      limit.where.emplace_back(dim, labels_at(labels, w + ": " + in_quotes(dim)));
    }
  });
  const bool up = with("max_increase", [&](const Json& j, const std::string& w) {
    limit.max_increase = amount_at(j, w);
  });
  const bool down = with("max_decrease", [&](const Json& j, const std::string& w) {
    limit.max_decrease = amount_at(j, w);
  });
  if (!up && !down) fail_limit(place, "max_increase, max_decrease or both", "neither");
  with("relative", [&](const Json& j, const std::string& w) {
    if (!j.is_boolean()) fail_limit(w, "true or false", describe(j));
    limit.relative = j.get<bool>();
  });
  with("errors", [&](const Json& j, const std::string& w) { limit.errors = amount_at(j, w); });
  return limit;
}

}  // namespace

std::vector<Limit> parse_limits(std::string_view text, const std::string& where) {
  const Json root = parse_json_object<Json>(text, where, kLimitsAdvice);
  check_schema(root, where);
  refuse_other_keys(root, where, {"schema", "limits"});
  const auto list = root.find("limits");
  if (list == root.end() || !list->is_array() || list->empty()) {
    fail_limit(where, "a key \"limits\" with a list of at least one",
               list == root.end() ? "none" : describe(*list));
  }
  std::vector<Limit> limits;
  for (std::size_t i = 0; i < list->size(); ++i) {
    limits.push_back(limit_at((*list)[i], fmt::format("{}: limits[{}]", where, i)));
  }
  return limits;
}

std::vector<Limit> read_limits(const std::string& path) {
  return parse_limits(read_file(path), path);
}

}  // namespace headgauge
