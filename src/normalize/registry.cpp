#include "normalize/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/embed.hpp"
#include "base/strict_json.hpp"
#include "headgauge/text.hpp"
#include "normalize/families.hpp"

HEADGAUGE_EMBED(normalizers, HEADGAUGE_NORMALIZERS);

namespace headgauge {
namespace {

using NormalizerRegistry = Registry<NormalizerInfo, Normalizer>;

std::vector<NormalizerInfo> infos() {
  std::vector<NormalizerInfo> all;
  for (const SpecText& of : read_specs(HEADGAUGE_EMBEDDED(normalizers))) {
    all.push_back({of.name, of.formula, of.parameters, of.source, of.bound, of.lemma1});
  }
  return all;
}

const NormalizerRegistry& registry() {
  static const NormalizerRegistry all(
      {"normalizer", "list normalizers"}, infos(),
      {scaled_softmax_normalizers(), adaptive_normalizers(), entmax_normalizers(),
       sink_normalizers(), sigmoid_normalizers(), self_adjust_normalizers(), top_k_normalizers()});
  return all;
}

// Returns the part of a spec before ":", or before "=", which stands there by mistake.
std::string_view name_in(std::string_view spec) {
  return spec.substr(0, spec.find_first_of(":="));
}

// Says how to write a spec whose first value alone lacks its key, or else where to look.
std::string how_to_write(const SpecOption& option, std::string_view spec,
                         const Parameters& parameters) {
  const std::string rest(spec.substr(name_in(spec).size() + 1));
  const bool only_first = std::ranges::count(rest, ',') == std::ranges::count(rest, '=');
  for (const Parameter& parameter : parameters.declared()) {
    const std::string written = fmt::format("{}:{}={}", name_in(spec), parameter.key, rest);
    try {
      Parameters tried = parameters;
      if (!only_first) break;
      read_parameters(option, written, tried);
      return "write " + written;
    } catch (const UsageError&) {  // another parameter may take the value
    }
  }
  return "`headgauge " + option.command + "` lists " + option.what + "s and parameters";
}

Parameter read_parameter(const nlohmann::json& json) {
  const NumberDomain any;
  const nlohmann::json& initial = json.at("initial");
  Parameter parameter{.key = json.at("key")};
  if (initial.is_string()) parameter.initial = initial.get<std::string>();
  if (initial.is_number()) parameter.initial = initial.get<double>();
  parameter.domain = {.lowest = json.value("lowest", any.lowest),
                      .highest = json.value("highest", any.highest),
                      .above = json.value("above", false),
                      .whole = json.value("whole", false)};
  parameter.words = json.value("words", parameter.words);
  parameter.at_most = json.value("at_most", "");
  return parameter;
}

struct GivenValue {
  std::string key, value;
};

// Returns the parts of "name:key=value,..." after the name.
std::vector<GivenValue> split_values(const SpecOption& option, std::string_view spec,
                                     const Parameters& parameters) {
  const std::size_t colon = name_in(spec).size();
  if (colon == spec.size()) return {};
  std::string_view list = spec.substr(colon + 1);
  std::vector<GivenValue> values;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view part = list.substr(0, comma);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || spec[colon] == '=') {
      throw UsageError(fault(option.name, "name:key=value,...", fmt::format("\"{}\"", part),
                             how_to_write(option, spec, parameters)));
    }
    const std::string key(part.substr(0, equals));
    refuse_if<UsageError>(std::ranges::find(values, key, &GivenValue::key) != values.end(),
                          fmt::format("{} {}", option.name, spec.substr(0, colon)),
                          "every parameter once", fmt::format("\"{}\" twice", key),
                          "remove one of them");
    values.push_back({key, std::string(part.substr(equals + 1))});
    if (comma == std::string_view::npos) return values;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<SpecText> read_specs(std::string_view json) {
  std::vector<SpecText> specs;
  for (const nlohmann::json& entry : parse_json(json, "specs")) {
    std::vector<Parameter> parameters;
    if (const auto declared = entry.find("parameters"); declared != entry.end()) {
      std::ranges::transform(*declared, std::back_inserter(parameters), read_parameter);
    }
    specs.push_back({.name = entry.at("name"),
                     .formula = entry.at("formula"),
                     .source = entry.at("source"),
                     .parameters = Parameters(parameters),
                     .bound = entry.value("bound", ""),
                     .lemma1 = entry.value("lemma1", ""),
                     .by_weight = entry.value("by_weight", false)});
  }
  return specs;
}

std::size_t find_name(const SpecOption& option, std::string_view spec,
                      const std::vector<std::string>& known) {
  constexpr std::size_t kAll = 10, kNearest = 3;
  const std::string name(name_in(spec));
  const auto found = std::ranges::find(known, name);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  const auto other = std::ranges::find_if(
      option.other_names, [&](const auto& one) { return name.starts_with(one.first); });
  const auto near = nearest_words(name, known, known.size() > kAll ? kNearest : kAll);
  throw UsageError(fault(
      option.name, fmt::format("the name of a {} such as {}", option.what, fmt::join(near, ", ")),
      "\"" + name + "\"" +
          (other == option.other_names.end() ? did_you_mean(name, known)
                                             : fmt::format(" (did you mean {}?)", other->second)),
      "`headgauge " + option.command + "` lists them"));
}

void read_parameters(const SpecOption& option, std::string_view spec, Parameters& parameters) {
  std::vector<GivenValue> values = split_values(option, spec, parameters);
  const std::string owner = fmt::format("{} {}", option.name, name_in(spec));
  const std::string known = parameters.text();
  // Uses the order of declaration, because an earlier parameter may bound a later one.
  for (const Parameter& parameter : parameters.declared()) {
    const auto given = std::ranges::find(values, parameter.key, &GivenValue::key);
    if (given == values.end()) continue;
    refuse_if<UsageError>(!parameters.set(parameter.key, given->value),
                          fmt::format("{}, parameter {}", owner, parameter.key),
                          parameters.expected(parameter.key), "\"" + given->value + "\"",
                          "correct the parameter");
    values.erase(given);
  }
  if (values.empty()) return;
  std::vector<std::string> keys;
  for (const Parameter& parameter : parameters.declared()) keys.push_back(parameter.key);
  const std::string& key = values.front().key;
  throw UsageError(fault(owner, known.empty() ? "no parameters" : "parameters " + known,
                         "\"" + key + "\"" + did_you_mean(key, keys),
                         "remove it or correct its name"));
}

NormalizerInfo parse_normalizer(std::string_view spec, std::string_view option) {
  return registry().parse(spec, option);
}

std::unique_ptr<Normalizer> make_normalizer(const NormalizerInfo& info) {
  return registry().make(info);
}

std::unique_ptr<Normalizer> make_normalizer(std::string_view spec, std::string_view option) {
  return make_normalizer(parse_normalizer(spec, option));
}

const std::vector<NormalizerInfo>& normalizers() {
  return registry().infos();
}

}  // namespace headgauge
