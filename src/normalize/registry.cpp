#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "normalize/rules.hpp"

namespace headgauge {
namespace {

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = [] {
    std::vector<Rule> rules;
    for (const auto& family : {scaled_softmax_rules(), adaptive_rules(), entmax_rules(),
                               sink_rules(), elementwise_rules(), signed_rules(), top_k_rules(),
                               pointwise_rules(), stieltjes_rules()}) {
      rules.insert(rules.end(), family.begin(), family.end());
    }
    return rules;
  }();
  return all;
}

// Number of characters to insert, remove or change to get from one word to the other.
std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t before = row[0]++;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t change = before + (from[i] != to[j] ? 1 : 0);
      before = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, before + 1, change});
    }
  }
  return row.back();
}

// The known words that are most like `word`, at most three.
std::string nearest(std::string_view word, std::vector<std::string> known) {
  std::ranges::stable_sort(known, {}, [&](const std::string& k) {
    // A word that begins with what was typed is near, however long.
    return k.starts_with(word) && !word.empty() ? 0 : edits(word, k);
  });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(known.size(), 3); ++i) {
    text += (i == 0 ? "" : ", ") + known[i];
  }
  return text;
}

}  // namespace

void RuleParameters::read(std::string_view list) {
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view part = list.substr(0, comma);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      throw UsageError(
          fault(option_.name, "name:key=value,...", fmt::format("\"{}\"", part),
                "`headgauge " + option_.command + "` lists " + option_.what + "s and parameters"));
    }
    Entry entry{std::string(part.substr(0, equals)), std::string(part.substr(equals + 1))};
    if (std::ranges::find(entries_, entry.key, &Entry::key) != entries_.end()) {
      throw UsageError(fault(option_.name + " " + rule_, "every parameter once",
                             fmt::format("\"{}\" twice", entry.key), "remove one of them"));
    }
    entries_.push_back(std::move(entry));
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
}

RuleParameters::Entry* RuleParameters::find(const std::string& key) {
  for (Entry& entry : entries_) {
    if (entry.key != key) continue;
    entry.used = true;
    return &entry;
  }
  return nullptr;
}

double RuleParameters::number(const std::string& key, double fallback, const Domain& domain) {
  const Entry* entry = find(key);
  if (entry == nullptr) return fallback;
  double value = 0;
  const char* end = entry->value.data() + entry->value.size();
  const auto [stop, error] = std::from_chars(entry->value.data(), end, value);
  const bool inside = (domain.above ? value > domain.lowest : value >= domain.lowest) &&
                      value <= domain.highest && (!domain.whole || value == std::floor(value)) &&
                      (!domain.even || std::fmod(value, 2) == 0);
  if (error == std::errc{} && stop == end && std::isfinite(value) && inside) return value;
  std::string expected = domain.even    ? "an even number"
                         : domain.whole ? "a whole number"
                                        : "a number";
  if (domain.lowest > -1e30) {
    expected += fmt::format(" {} {}", domain.above ? "above" : "of at least", domain.lowest);
  }
  if (domain.highest < 1e30) expected += fmt::format(" up to {}", domain.highest);
  throw UsageError(
      fault(parameter(key), expected, "\"" + entry->value + "\"", "correct the parameter"));
}

std::string RuleParameters::word(const std::string& key, const std::string& fallback,
                                 const std::vector<std::string>& choices) {
  const Entry* entry = find(key);
  if (entry == nullptr) return fallback;
  if (std::ranges::find(choices, entry->value) != choices.end()) return entry->value;
  std::string known;
  for (const std::string& choice : choices) known += (known.empty() ? "" : ", ") + choice;
  throw UsageError(fault(parameter(key), "one of " + known, "\"" + entry->value + "\"",
                         "correct the parameter"));
}

bool RuleParameters::is(const std::string& key, std::string_view text) {
  const Entry* entry = find(key);
  return entry != nullptr && entry->value == text;
}

void RuleParameters::finish(const std::string& known) const {
  for (const Entry& entry : entries_) {
    if (entry.used) continue;
    throw UsageError(fault(option_.name + " " + rule_,
                           known.empty() ? "no parameters" : "parameters " + known,
                           "\"" + entry.key + "\"", "remove it or correct its name"));
  }
}

std::string RuleParameters::parameter(const std::string& key) const {
  return option_.name + " " + rule_ + ", parameter " + key;
}

RuleParameters parse_rule(const RuleOption& option, std::string_view spec,
                          const std::vector<std::string>& known) {
  const std::size_t colon = spec.find(':');
  const std::string_view name = spec.substr(0, colon);
  if (std::ranges::find(known, name) == known.end()) {
    throw UsageError(
        fault(option.name, "the name of a " + option.what + " such as " + nearest(name, known),
              "\"" + std::string(name) + "\"", "`headgauge " + option.command + "` lists them"));
  }
  RuleParameters parameters(option, name);
  if (colon != std::string_view::npos) parameters.read(spec.substr(colon + 1));
  return parameters;
}

std::unique_ptr<Normalizer> make_normalizer(std::string_view spec) {
  std::vector<std::string> known;
  for (const Rule& rule : rules()) known.push_back(rule.info.name);
  RuleParameters parameters = parse_rule({"ScanOptions::normalizer", "rule", "normalizers"}, spec, known);
  const auto rule =
      std::ranges::find(rules(), parameters.rule(), [](const Rule& r) { return r.info.name; });
  auto made = rule->make(rule->info, parameters);
  parameters.finish(rule->info.parameters);
  return made;
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
