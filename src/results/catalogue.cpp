#include "headgauge/catalogue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/strict_json.hpp"
#include "results/catalogue_text.hpp"
#include "results/declaration.hpp"
#include "results/declared.hpp"

namespace headgauge {
namespace {

using declaration::Keys;
using declaration::refuse;

std::string command_after(Keys& keys, const Catalogue& catalogue) {
  if (!keys.has("next")) {
    return fmt::format(
        "`headgauge compare MODEL TEXT --heads HEAD {}` says what the loss becomes if {}.",
        keys.text("try"), keys.text("if"));
  }
  const std::string name = keys.text("next");
  const auto found = catalogue.commands.find(name);
  if (found == catalogue.commands.end()) refuse("next", "there is no command \"" + name + "\"");
  return found->second;
}

// Fills a number into a text, for {} or, times 100, for {percent:g}.
std::string filled_in(const std::string& place, const std::string& text, double number) {
  try {
    return fmt::format(fmt::runtime(text), number, fmt::arg("percent", 100 * number));
  } catch (const fmt::format_error& error) {
    refuse(place, fmt::format("\"{}\": {}", text, error.what()));
  }
}

FlagInfo read_flag(nlohmann::json object, const std::string& metric, const Catalogue& catalogue) {
  Keys keys(std::move(object), "flags of " + metric);
  using enum FlagInfo::Rule;
  FlagInfo flag;
  flag.metric = metric;
  flag.name = keys.text("name");
  flag.place = keys.take<int>("place");
  flag.role = keys.find<bool>("role").value_or(false);
  flag.rule = keys.one_of<FlagInfo::Rule>(
      "rule", {{"above", above}, {"below", below}, {"beyond_chance", beyond_chance}});
  flag.cutoff = keys.take<double>("cutoff");
  if (keys.has("share_of")) flag.share_of = keys.text("share_of");
  if (!flag.share_of.empty() && flag.rule == beyond_chance) {
    refuse(flag.name, "only the rules above and below take \"share_of\"");
  }
  flag.meaning = filled_in(flag.name, keys.text("meaning"), flag.cutoff);
  flag.source = keys.text("source");
  flag.means = keys.text("means");
  flag.next = command_after(keys, catalogue);
  keys.skip({"says"});  // for the page of a head
  keys.done();
  return flag;
}

Column read_column(nlohmann::json object, const MetricInfo& metric) {
  const std::string place = "column of " + metric.name;
  Keys keys(std::move(object), place);
  const std::string unit = declaration::unit_of(keys, metric.unit, place);
  Column column{metric.name, keys.text("title"), unit, keys.take<std::size_t>("width")};
  filled_in(place, column.unit, 0);
  if (keys.has("judged_by")) column.judged_by = keys.text("judged_by");
  column.aside = keys.find<bool>("aside").value_or(false);
  column.place = keys.take<int>("place");
  keys.done();
  return column;
}

MetricInfo read_metric(nlohmann::json object, const MetricGroup& group, std::size_t number,
                       Catalogue& catalogue) {
  const auto name = object.find("name");
  std::string place = name != object.end() && name->is_string()
                          ? name->get<std::string>()
                          : fmt::format("metric {} of {}", number, group.name);
  Keys keys(std::move(object), std::move(place));
  using enum MetricKind;
  MetricInfo info;
  info.name = keys.text("name");
  info.group = group.name;
  info.kind = keys.one_of<MetricKind>("kind", {{"row_mean", row_mean},
                                               {"row_longest", row_longest},
                                               {"hidden", hidden},
                                               {"derived", derived}});
  info.dims = keys.take<std::vector<std::string>>("dims");
  info.unit = keys.text("unit");
  info.formula = keys.text("formula");
  if (info.kind != hidden) {
    info.title = keys.text("title");
    info.meaning = keys.text("meaning");
    info.source = keys.text("source");
  }
  info.none = keys.find<double>("none");
  info.identifier = keys.find<bool>("identifier").value_or(false);
  for (nlohmann::json& flag : keys.list("flags")) {
    if (!flag.is_string()) {
      catalogue.flags.push_back(read_flag(std::move(flag), info.name, catalogue));
      info.flags.push_back(catalogue.flags.back().name);
    } else {
      info.flags.push_back(flag.get<std::string>());
    }
  }
  if (auto column = keys.find<nlohmann::json>("column")) {
    catalogue.columns.push_back(read_column(std::move(*column), info));
  }
  info.by_position = keys.find<bool>("by_position").value_or(false);
  info.command = keys.has("command") ? keys.text("command") : group.command;
  if (keys.has("fraction_of")) info.fraction_of = keys.text("fraction_of");
  info.formerly =
      keys.find<std::vector<std::string>>("formerly").value_or(std::vector<std::string>());
  if (keys.has("interval")) info.interval = keys.text("interval");
  if (keys.has("test")) info.test = keys.text("test");
  info.aside = keys.find<bool>("aside").value_or(false);
  info.bound = keys.find<bool>("bound").value_or(false);
  if (const auto ends = keys.find<std::vector<double>>("range")) {
    if (ends->size() != 2 || !((*ends)[0] < (*ends)[1])) {
      refuse(info.name, "\"range\" is not a smaller and a larger number");
    }
    info.range = {(*ends)[0], (*ends)[1]};
  }
  keys.skip({"mapped", "listed"});
  keys.done();
  return info;
}

Experiment read_experiment(nlohmann::json object, const MetricGroup& group) {
  Keys keys(std::move(object), fmt::format("experiments of {}", group.name));
  Experiment experiment;
  experiment.name = keys.text("name");
  experiment.title = keys.text("title");
  experiment.random_tokens = keys.find<bool>("random_tokens").value_or(false);
  keys.done();
  return experiment;
}

// Takes the texts that a file has under this key.
void take_words(const nlohmann::json& file, const char* key, Catalogue::Words& words) {
  if (file.is_object()) words.merge(file.value(key, Catalogue::Words()));
}

void read_group(nlohmann::json file, std::size_t number, Catalogue& catalogue) {
  Keys keys(std::move(file), fmt::format("group {}", number));
  MetricGroup group;
  group.name = keys.text("group");
  group.command = keys.text("command");
  if (keys.has("needs")) {
    using enum MetricGroup::Needs;
    group.needs = keys.one_of<MetricGroup::Needs>("needs", {{"x", x},
                                                            {"shares", shares},
                                                            {"loss", loss},
                                                            {"intervention", intervention},
                                                            {"answers", answers}});
  }
  auto metrics = keys.take<nlohmann::json::array_t>("metrics");
  auto experiments = keys.list("experiments"), sentences = keys.list("sentences");
  keys.skip({"figures", "tables", "commands", "given", "phrases", "terms"});
  keys.done();
  for (nlohmann::json& experiment : experiments) {
    catalogue.experiments.push_back(read_experiment(std::move(experiment), group));
  }
  for (nlohmann::json& sentence : sentences) {
    catalogue.sentences.push_back(read_sentence(std::move(sentence), group.name));
  }
  std::size_t number_of_metric = 0;
  for (nlohmann::json& metric : metrics) {
    catalogue.metrics.push_back(
        read_metric(std::move(metric), group, ++number_of_metric, catalogue));
  }
  catalogue.groups.push_back(std::move(group));
}

void require_names(const Catalogue& catalogue) {
  std::set<std::string> groups, metrics, flags;
  for (const MetricGroup& group : catalogue.groups) {
    if (!groups.insert(group.name).second) refuse(group.name, "the group stands twice");
  }
  const auto require_metric = [&](const std::string& place, const std::string& other) {
    if (!other.empty() && !metrics.contains(other)) {
      refuse(place, "there is no metric \"" + other + "\"");
    }
  };
  for (const MetricInfo& metric : catalogue.metrics) {
    if (!metrics.insert(metric.name).second) refuse(metric.name, "the metric stands twice");
    for (const std::string& flag : metric.flags) {
      if (!flags.insert(flag).second) refuse(metric.name, "\"" + flag + "\" is judged twice");
    }
  }
  for (const MetricInfo& metric : catalogue.metrics) {
    require_metric(metric.name, metric.fraction_of);
  }
  for (const FlagInfo& flag : catalogue.flags) {
    require_metric(flag.name, flag.share_of);
  }
  for (const Column& column : catalogue.columns) {
    require_metric("column of " + column.metric, column.judged_by);
  }
}

}  // namespace

const Catalogue& catalogue() {
  static const Catalogue read = read_catalogue(catalogue_text());
  return read;
}

Catalogue read_catalogue(std::string_view text) {
  nlohmann::json files;
  try {
    files = parse_json(text, "catalogue");
  } catch (const BadInputError&) {
    // `files` is then not a list, which is reported below.
  }
  if (!files.is_array()) refuse("the files", "expected JSON objects");
  Catalogue catalogue;
  for (const nlohmann::json& file : files) {
    take_words(file, "commands", catalogue.commands);
    take_words(file, "phrases", catalogue.phrases);
    take_words(file, "terms", catalogue.terms);
  }
  for (nlohmann::json& file : files) {
    read_group(std::move(file), catalogue.groups.size() + 1, catalogue);
  }
  require_names(catalogue);
  std::ranges::stable_sort(catalogue.flags, {}, &FlagInfo::place);
  std::ranges::stable_sort(catalogue.columns, {}, &Column::place);
  std::ranges::stable_sort(catalogue.sentences, {}, &Sentence::place);
  return catalogue;
}

std::vector<std::string> MetricInfo::all_dims() const {
  std::vector<std::string> all;
  if (kind != MetricKind::derived) all = {"layer", "head"};
  if (kind != MetricKind::derived && kind != MetricKind::row_longest) all.emplace_back("length");
  all.insert(all.end(), dims.begin(), dims.end());
  return all;
}

std::string_view in_words(MetricGroup::Needs needs) {
  constexpr std::array words = {"",
                                "the vectors x",
                                "the vectors x and MeasureOptions::top_share",
                                "a prediction of the next token",
                                "a ScanOptions::normalizer or a ScanOptions::pattern",
                                "tasks"};
  return words.at(static_cast<std::size_t>(needs));
}

const std::vector<MetricGroup>& metric_groups() {
  return catalogue().groups;
}

const std::vector<MetricInfo>& all_metrics() {
  return catalogue().metrics;
}

const std::vector<Experiment>& experiments() {
  return catalogue().experiments;
}

const std::vector<FlagInfo>& flag_infos() {
  return catalogue().flags;
}

const std::map<std::string, std::string>& terms() {
  return catalogue().terms;
}

const std::vector<Column>& head_columns() {
  return catalogue().columns;
}

const FlagInfo& flag_info(std::string_view flag) {
  const auto found = std::ranges::find(flag_infos(), flag, &FlagInfo::name);
  if (found == flag_infos().end()) refuse(std::string(flag), "the flag is not declared");
  return *found;
}

const std::vector<std::string>& measure_groups() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const MetricGroup& group : metric_groups()) {
      if (group.command == "scan") list.push_back(group.name);
    }
    return list;
  }();
  return names;
}

const MetricInfo* find_metric_info(std::string_view name) {
  const auto found = std::ranges::find(all_metrics(), name, &MetricInfo::name);
  return found == all_metrics().end() ? nullptr : &*found;
}

const MetricInfo& metric_info(std::string_view name) {
  const MetricInfo* info = find_metric_info(name);
  if (info == nullptr) refuse(std::string(name), "the metric is not declared");
  return *info;
}

std::string metric_hint(std::string_view name, const std::vector<std::string>& names) {
  const auto now = [](std::string_view old) -> const MetricInfo* {
    const auto found = std::ranges::find_if(all_metrics(), [&](const MetricInfo& metric) {
      return std::ranges::find(metric.formerly, old) != metric.formerly.end();
    });
    return found == all_metrics().end() ? nullptr : &*found;
  };
  if (const MetricInfo* info = now(name)) {
    const bool is_p = name.ends_with("_p") && !info->test.empty();
    return fmt::format("; it is now {}{}", is_p ? "\"p\" of " : "", info->name);
  }
  if (name.ends_with("_change")) {
    const std::string hint = metric_hint(name.substr(0, name.size() - 7), {});
    if (!hint.empty()) return hint + ", of which look for the change";
  }
  for (const std::string_view part : {"low", "high", "p"}) {
    if (!name.ends_with(fmt::format("_{}", part))) continue;
    const std::string_view base = name.substr(0, name.size() - part.size() - 1);
    const MetricInfo* info = now(base) != nullptr ? now(base) : find_metric_info(base);
    if (info == nullptr || (part == "p" ? info->test : info->interval).empty()) continue;
    return fmt::format("; it is now \"{}\" of {}", part, info->name);
  }
  return did_you_mean(std::string(name), names);
}

const Experiment* find_experiment(std::string_view metric) {
  for (const Experiment& experiment : experiments()) {
    const std::string prefix = experiment.name + "_";
    if (!metric.starts_with(prefix)) continue;
    if (find_metric_info(metric.substr(prefix.size())) != nullptr) return &experiment;
  }
  return nullptr;
}

std::string experiment_metric(std::string_view experiment, std::string_view metric) {
  std::string name = fmt::format("{}_{}", experiment, metric);
  if (find_experiment(name) == nullptr) refuse(name, "no experiment has this metric");
  return name;
}

std::string twin_by_position(std::string_view metric) {
  return std::string(metric) + "_by_position";
}

LabelledArray& add_declared(Results& results, std::string_view name) {
  return add_declared(results, name, metric_info(name).all_dims());
}

LabelledArray& add_declared(Results& results, std::string_view name,
                            std::vector<std::string> dims) {
  const MetricInfo& info = metric_info(name);
  LabelledArray& metric = results.add_metric(info.name, std::move(dims), info.unit);
  if (!info.interval.empty()) metric.with_intervals();
  if (!info.test.empty()) metric.with_p();
  return metric;
}

void give_meaning(std::string_view name, LabelledArray& metric) {
  const MetricInfo* info = find_metric_info(name);
  if (info == nullptr) return;
  metric.none = info->none;
  metric.identifier = info->identifier;
}

const MetricInfo* metric_of_flag(std::string_view flag) {
  const auto found = std::ranges::find_if(all_metrics(), [&](const MetricInfo& metric) {
    return std::ranges::find(metric.flags, flag) != metric.flags.end();
  });
  return found == all_metrics().end() ? nullptr : &*found;
}

}  // namespace headgauge
