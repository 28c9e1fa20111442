#include "reproduce/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "headgauge/catalogue.hpp"
#include "headgauge/ranks.hpp"

namespace headgauge {
namespace {

std::string number_text(double number, const std::string& format) {
  if (format == "~") return std::isnan(number) ? "-" : fmt::format("{:.3g}", number);
  return fmt::format(fmt::runtime("{:" + format + "}"), number);
}

template <class Operation>
std::vector<double> in_pairs(const std::vector<double>& first, const std::vector<double>& second,
                             const Operation& operation) {
  std::vector<double> result(std::min(first.size(), second.size()));
  std::transform(first.begin(), first.begin() + std::ssize(result), second.begin(), result.begin(),
                 operation);
  return result;
}

}  // namespace

void Evidence::put(const std::string& name, Value value) {
  const auto at = std::ranges::find(values_, name, &std::pair<std::string, Value>::first);
  if (at != values_.end()) at->second = std::move(value);
  if (at == values_.end()) values_.emplace_back(name, std::move(value));
}

const Evidence::Value* Evidence::find(std::string_view name) const {
  const auto at = std::ranges::find(values_, name, &std::pair<std::string, Value>::first);
  return at == values_.end() ? nullptr : &at->second;
}

std::string Evidence::written(std::string_view name, const std::string& format) const {
  const std::string key(name);
  if (const Value* value = find(name)) {
    const auto* word = std::get_if<std::string>(value);
    return word != nullptr ? *word : number_text(std::get<double>(*value), format);
  }
  const auto threshold = thresholds_.find(key);
  if (threshold != thresholds_.end()) return number_text(threshold->second, format);
  return text(key);
}

std::string Evidence::filled(std::string_view text) const {
  std::string filled;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    filled += text.substr(0, open);
    text.remove_prefix(open);
    if (text.empty()) break;
    const std::size_t close = text.find('}');
    const std::string_view field = text.substr(1, close - 1);
    const std::size_t colon = std::min(field.find(':'), field.size());
    const std::string format(field.substr(std::min(colon + 1, field.size())));
    filled += written(field.substr(0, colon), format);
    text.remove_prefix(close + 1);
  }
  return filled;
}

void Evidence::need(bool met, const std::string& reason) const {
  if (!met) throw NotTested(filled(texts_.not_tested.at(reason)));
}

void Evidence::set(std::initializer_list<std::pair<std::string, double>> numbers) {
  for (const auto& [name, number] : numbers) set(name, number);
}

void Evidence::set(const std::string& name, const Interval& interval) {
  set({{name + "_low", interval.low}, {name + "_high", interval.high}});
}

void Evidence::describe(const std::string& name, const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  set({{name + "_median", median(values)},
       {name + "_least", least},
       {name + "_most", most},
       {name + "_count", values.size()}});
}

void Evidence::write(Claim& claim) const {
  claim.verdict = verdict;
  claim.measured = filled(texts_.measured) + said_;
  for (const std::string& listed : texts_.facts) {
    const std::string name = listed.substr(0, listed.find('='));
    if (name.ends_with('*')) {
      const std::string start = name.substr(0, name.size() - 1);
      for (const auto& [own, value] : values_) {
        if (own.starts_with(start)) claim.facts.push_back({own, std::get<double>(value)});
      }
    } else if (const Value* value = find(listed.substr(listed.find('=') + 1))) {
      claim.facts.push_back({name, std::get<double>(*value)});
    }
  }
}

std::span<const double> Evidence::numbers(std::string_view coord) const {
  return results.coord(coord) == nullptr ? std::span<const double>() : results.coord_numbers(coord);
}

const std::vector<HeadName>& Evidence::heads(Heads which) const {
  if (!heads_) {
    heads_ = without_window_ = measured_heads(results);
    std::erase_if(*without_window_,
                  [&](const HeadName& head) { return !sees_all_keys(results, head.layer_index); });
  }
  return which == Heads::all ? *heads_ : *without_window_;
}

void Evidence::need_heads_without_window() const {
  need(!heads(Heads::without_window).empty() || heads().empty(), "windows");
}

std::vector<Estimate> Evidence::estimates(std::string_view metric,
                                          std::initializer_list<Pick> picks, Heads which) const {
  std::vector<Estimate> all;
  for (const HeadName& head : heads(which)) {
    std::vector<Pick> at(picks);
    at.insert(at.end(), {{"layer", head.layer_index}, {"head", head.head_index}});
    const auto cell = find_cell(results, metric, at);
    all.push_back(cell ? Estimate(*cell) : Estimate());
  }
  return all;
}

std::vector<double> Evidence::of_heads(std::string_view metric, std::initializer_list<Pick> picks,
                                       Heads which) const {
  return values_of(estimates(metric, picks, which));
}

std::vector<double> Evidence::ratios(std::string_view over, std::string_view under,
                                     std::initializer_list<Pick> picks, Heads which) const {
  std::vector<double> found =
      headgauge::over(of_heads(over, picks, which), of_heads(under, picks, which));
  for (double& ratio : found) {
    if (!std::isfinite(ratio) || ratio <= 0) ratio = kUndefined;
  }
  return found;
}

const LabelledArray& Evidence::of_experiment(const std::string& experiment,
                                             std::string_view metric) {
  const LabelledArray* found = results.metric(experiment_metric(experiment, metric));
  set_word("experiment", experiment);
  need(found != nullptr, experiment == "model" ? "no_model" : "no_experiment");
  return *found;
}

std::vector<double> values_of(std::span<const Estimate> estimates, double Estimate::*number) {
  std::vector<double> values;
  for (const Estimate& estimate : estimates) values.push_back(estimate.*number);
  return values;
}

std::vector<double> less(const std::vector<double>& first, const std::vector<double>& second) {
  return in_pairs(first, second, std::minus<>());
}

std::vector<double> over(const std::vector<double>& first, const std::vector<double>& second) {
  return in_pairs(first, second, std::divides<>());
}

double median_of(const std::vector<double>& values) {
  return median(finite_values(values));
}

}  // namespace headgauge
