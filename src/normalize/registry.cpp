#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "normalize/rules.hpp"

namespace headgauge {
namespace {

struct Rule {
  NormalizerInfo info;
  std::unique_ptr<Normalizer> (*make)(RuleParameters&);
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {softmax_info(), make_softmax},
  };
  return all;
}

}  // namespace

void RuleParameters::read(std::string_view list) {
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view part = list.substr(0, comma);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      throw UsageError(fault("--normalizer", "name:key=value,...", fmt::format("\"{}\"", part),
                             "`headgauge normalizers` lists rules and parameters"));
    }
    Entry entry{std::string(part.substr(0, equals)), std::string(part.substr(equals + 1))};
    if (std::ranges::find(entries_, entry.key, &Entry::key) != entries_.end()) {
      throw UsageError(fault("--normalizer " + rule_, "every parameter once",
                             fmt::format("\"{}\" twice", entry.key), "remove one of them"));
    }
    entries_.push_back(std::move(entry));
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
}

double RuleParameters::number(const std::string& key, double fallback, double lower_bound) {
  double value = fallback;
  for (Entry& entry : entries_) {
    if (entry.key != key) continue;
    entry.used = true;
    const char* end = entry.value.data() + entry.value.size();
    const auto [stop, error] = std::from_chars(entry.value.data(), end, value);
    if (error != std::errc{} || stop != end || !std::isfinite(value) || value <= lower_bound) {
      throw UsageError(fault("--normalizer " + rule_ + ", parameter " + key,
                             fmt::format("a number above {}", lower_bound),
                             "\"" + entry.value + "\"", "correct the parameter"));
    }
  }
  return value;
}

void RuleParameters::finish(const std::string& known) const {
  for (const Entry& entry : entries_) {
    if (entry.used) continue;
    throw UsageError(fault("--normalizer " + rule_, "parameters " + known, "\"" + entry.key + "\"",
                           "remove it or correct its name"));
  }
}

std::unique_ptr<Normalizer> make_normalizer(std::string_view spec) {
  const std::size_t colon = spec.find(':');
  const std::string_view name = spec.substr(0, colon);
  std::string known;
  for (const Rule& rule : rules()) {
    if (rule.info.name == name) {
      RuleParameters parameters(name);
      if (colon != std::string_view::npos) parameters.read(spec.substr(colon + 1));
      auto made = rule.make(parameters);
      parameters.finish(rule.info.parameters);
      return made;
    }
    known += (known.empty() ? "" : ", ") + rule.info.name;
  }
  throw UsageError(fault("--normalizer", "one of " + known, "\"" + std::string(name) + "\"",
                         "`headgauge normalizers` lists them"));
}

const std::vector<NormalizerInfo>& normalizers() {
  static const std::vector<NormalizerInfo> all = [] {
    std::vector<NormalizerInfo> infos;
    for (const Rule& rule : rules()) infos.push_back(rule.info);
    return infos;
  }();
  return all;
}

}  // namespace headgauge
