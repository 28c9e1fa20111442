// headgauge list: what headgauge can measure and apply.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/print.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/flags.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/patterns.hpp"
#include "headgauge/session.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

void print_metric(const MetricInfo& metric, const MetricGroup& group) {
  cli::print("  {} [{}] ({}){}{}\n      {}\n      = {}\n      {}\n", metric.name, metric.unit,
             fmt::join(metric.all_dims(), ", "),
             metric.by_position ? " + " + twin_by_position(metric.name) : "",
             metric.command == group.command ? "" : " (headgauge " + metric.command + ")",
             metric.meaning, metric.formula, metric.source);
}

// Returns the fields of MetricInfo, with all dims as one text.
nlohmann::ordered_json as_json(const MetricInfo& metric) {
  return {{"name", metric.name},
          {"title", metric.title},
          {"group", metric.group},
          {"command", metric.command},
          {"dims", fmt::format("{}", fmt::join(metric.all_dims(), ", "))},
          {"unit", metric.unit},
          {"range", metric.range ? nlohmann::ordered_json(*metric.range) : nullptr},
          {"formula", metric.formula},
          {"source", metric.source},
          {"meaning", metric.meaning},
          {"by_position", metric.by_position},
          {"none", metric.none ? nlohmann::ordered_json(*metric.none) : nullptr},
          {"interval", metric.interval},
          {"test", metric.test},
          {"identifier", metric.identifier},
          {"flags", metric.flags}};
}

nlohmann::ordered_json as_json(const FlagInfo& flag) {
  const MetricInfo* const metric = metric_of_flag(flag.name);
  return {{"name", flag.name},
          {"meaning", flag.meaning},
          {"source", flag.source},
          {"role", flag.role},
          {"metric", metric != nullptr ? nlohmann::ordered_json(metric->name) : nullptr}};
}

std::string traits_text(const NormalizerTraits& traits) {
  std::string text = traits.simplex ? "weights sum to 1" : "weights need not sum to 1";
  if (traits.sparse) text += ", exact zeros";
  if (traits.by_position) {
    text += ", depends on the query's position";
  } else if (traits.length_aware) {
    text += ", depends on the number of keys";
  }
  if (!traits.increasing) text += ", not increasing in the logit";
  return text;
}

// Example: [{"key": "t", "default": 1, "takes": "a number above 0"}].
nlohmann::ordered_json parameters_json(const Parameters& parameters) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Parameter& parameter : parameters.declared()) {
    nlohmann::ordered_json entry = {{"key", parameter.key}};
    std::visit([&](const auto& initial) { entry["default"] = initial; }, parameter.initial);
    entry["takes"] = parameter.takes();
    entry["words"] = parameter.words;
    list.push_back(std::move(entry));
  }
  return list;
}

nlohmann::ordered_json as_json(const NormalizerInfo& info) {
  const auto normalizer = make_normalizer(info);
  const NormalizerTraits traits = normalizer->traits();
  nlohmann::ordered_json lipschitz = traits.lipschitz;
  if (std::isinf(traits.lipschitz)) lipschitz = nullptr;
  return {{"name", info.name},
          {"formula", info.formula},
          {"parameters", info.parameters.text()},
          {"source", info.source},
          {"simplex", traits.simplex},
          {"increasing", traits.increasing},
          {"length_aware", traits.length_aware},
          {"by_position", traits.by_position},
          {"sparse", traits.sparse},
          {"pointwise", traits.pointwise},
          {"scaled_softmax", normalizer->softmax_scale({1, 0}).has_value()},
          {"lipschitz", lipschitz},
          {"bound", info.bound},
          {"lemma1", info.lemma1},
          {"accepts", parameters_json(info.parameters)}};
}

nlohmann::ordered_json as_json(const PatternInfo& info) {
  return {{"name", info.name},
          {"formula", info.formula},
          {"parameters", info.parameters.text()},
          {"source", info.source},
          {"accepts", parameters_json(info.parameters)}};
}

template <class Infos>
int print_all(const Infos& infos) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& info : infos) list.push_back(as_json(info));
  print("{}\n", list.dump(2));
  return 0;
}

// Shows the metric or flag of that name, or the metric of that column; a metric's twin by position
// is in the same entry.
int show_measure(bool json, const std::string& name) {
  const auto show = [&](const auto& one) {
    json ? print("{}\n", as_json(one).dump(2)) : print_fields(as_json(one));
    return 0;
  };
  std::vector<std::string> known;
  for (const MetricInfo& metric : all_metrics()) {
    if (metric.kind == MetricKind::hidden) continue;
    if (name == metric.name || (metric.by_position && name == twin_by_position(metric.name))) {
      return show(metric);
    }
    known.push_back(metric.name);
  }
  for (const FlagInfo& flag : flag_infos()) {
    if (name == flag.name) return show(flag);
    known.push_back(flag.name);
  }
  for (const Column& column : head_columns()) {
    if (name == column.title) return show_measure(json, column.metric);
  }
  // A flag of a comparison has the meaning of its metric.
  if (const MetricInfo* const metric = metric_of_flag(name)) {
    return show(FlagInfo{.name = name, .meaning = metric->meaning, .source = metric->source});
  }
  const bool is_group = std::ranges::count(metric_groups(), name, &MetricGroup::name) > 0;
  throw UsageError(
      fault("list measures", "the name of a metric, a flag or a column",
            in_quotes(name) + (is_group ? ", a group" : metric_hint(name, known)),
            is_group ? "write --group " + name : "headgauge list measures lists them"));
}

int list_measures(bool json, const std::string& chosen) {
  const std::vector<MetricGroup>& groups = metric_groups();
  if (!chosen.empty() && std::ranges::find(groups, chosen, &MetricGroup::name) == groups.end()) {
    std::vector<std::string> names;
    std::ranges::transform(groups, std::back_inserter(names), &MetricGroup::name);
    throw UsageError(fault("--group", fmt::format("one of {}", fmt::join(names, ", ")),
                           in_quotes(chosen) + did_you_mean(chosen, names), "correct the name"));
  }
  const auto is_listed = [&](const MetricInfo& metric) {
    return metric.kind != MetricKind::hidden && (chosen.empty() || metric.group == chosen);
  };
  if (json) {
    std::vector<MetricInfo> listed;
    std::ranges::copy_if(all_metrics(), std::back_inserter(listed), is_listed);
    return print_all(listed);
  }
  bool first = true;
  for (const MetricGroup& group : groups) {
    if (!chosen.empty() && group.name != chosen) continue;
    if (!std::exchange(first, false)) print("\n");
    print("{}{}{}\n", group.name,
          group.command == "scan" ? "" : " (headgauge " + group.command + ")",
          group.needs == MetricGroup::Needs::nothing
              ? ""
              : fmt::format(" (needs {})", with_option_names(std::string(in_words(group.needs)))));
    for (const MetricInfo& metric : all_metrics()) {
      if (metric.group == group.name && is_listed(metric)) print_metric(metric, group);
    }
  }
  return 0;
}

int list_normalizers(bool json) {
  if (json) return print_all(normalizers());
  for (const NormalizerInfo& info : normalizers()) {
    print("{}{}{}\n    {}\n    {}; sup ||J||_2: {}\n    Lemma 1 {}\n    {}\n", info.name,
          info.parameters.empty() ? "" : ":", info.parameters.text(), info.formula,
          traits_text(make_normalizer(info)->traits()), info.bound, info.lemma1, info.source);
  }
  return 0;
}

int list_patterns(bool json) {
  if (json) return print_all(patterns());
  for (const PatternInfo& info : patterns()) {
    print("{}:{}\n    {}\n    {}\n", info.name, info.parameters.text(), info.formula, info.source);
  }
  return 0;
}

void add_measures(CommandNode& parent) {
  const auto json = std::make_shared<bool>(false);
  const auto group = std::make_shared<std::string>(), name = std::make_shared<std::string>();
  parent.add({.name = "measures",
              .about = "List every metric with unit, formula and source, or show one",
              .example = "Example: headgauge list measures --group weights\n"
                         "         headgauge list measures entropy",
              .operands = {{.name = "NAME",
                            .help = "A metric or a flag to explain in full",
                            .value = name.get(),
                            .required = false,
                            .expects = "a name"}},
              .options = declared_options("MeasuresCommand",
                                          {{"group", group.get()}, {"json", json.get()}}),
              .run = [=](const CommandNode&) {
                return name->empty() ? list_measures(*json, *group) : show_measure(*json, *name);
              }});
}

// WHAT without options but --json.
void add_listed(CommandNode& parent, const std::string& what, const std::string& help,
                int (*list)(bool json)) {
  const auto json = std::make_shared<bool>(false);
  parent.add({.name = what,
              .about = help,
              .example = "Example: headgauge list " + what + " --json",
              .options = declared_options("ListCommand", {{"json", json.get()}}),
              .run = [=](const CommandNode&) { return list(*json); }});
}

}  // namespace

void add_list(CommandNode& app) {
  CommandNode& command = app.add({.name = "list",
                                  .about = "List the measures, normalizers or patterns",
                                  .example = "Example: headgauge list measures\n"
                                             "Each command has its own --help."});
  add_measures(command);
  add_listed(command, "normalizers", "List the normalizers, which turn scores into weights",
             list_normalizers);
  add_listed(command, "patterns", "List the patterns, which keep only some keys of a query",
             list_patterns);
}

void add_options_list(CommandNode& app) {
  app.add({.name = "options",
           .about = "List the options of every command as JSON",
           .hidden = true,
           .run = [&app](const CommandNode&) {
             print("{}\n", options_of_all(app).dump(2));
             return 0;
           }});
}

}  // namespace headgauge::cli
