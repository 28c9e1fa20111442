// headgauge measures, normalizers and patterns: what can be measured, and under which rules.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/print.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/patterns.hpp"
#include "scan/catalogue.hpp"

namespace headgauge::cli {
namespace {

int list_measures(bool json, const std::string& group) {
  const nlohmann::ordered_json all = metrics_catalogue();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::vector<std::string> groups;
  for (const auto& metric : all) {
    const auto text = [&](const char* key) { return metric[key].get<std::string>(); };
    const bool first = groups.empty() || groups.back() != text("group");
    if (first) groups.push_back(text("group"));
    if (!group.empty() && group != text("group")) continue;
    const bool top = list.empty();
    list.push_back(metric);
    if (json) continue;
    if (first) {
      print("{}{}{}\n", top ? "" : "\n", text("group"),
            text("command") == "scan" ? "" : " (headgauge converge)");
    }
    print("  {} [{}] ({}){}\n      {}\n      = {}\n      {}\n", text("name"), text("unit"),
          text("dims"), metric["by_position"] ? " + _by_position" : "", text("meaning"),
          text("formula"), text("source"));
  }
  if (list.empty()) {
    throw UsageError(fault("--group", fmt::format("one of {}", fmt::join(groups, ", ")),
                           "\"" + group + "\"", "correct the name"));
  }
  if (json) print("{}\n", list.dump(2));
  return 0;
}

std::string traits_text(const NormalizerTraits& traits) {
  std::string text = traits.simplex ? "weights sum to 1" : "weights need not sum to 1";
  if (traits.is_signed) text += ", may be negative";
  if (traits.sparse) text += ", exact zeros";
  if (traits.by_position) {
    text += ", depends on the query's position";
  } else if (traits.length_aware) {
    text += ", depends on the number of keys";
  }
  if (!traits.increasing) text += ", not increasing in the logit";
  return text;
}

int list_normalizers(bool json) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const NormalizerInfo& info : normalizers()) {
    const NormalizerTraits traits = make_normalizer(info.name)->traits();
    if (json) {
      nlohmann::ordered_json lipschitz = traits.lipschitz;
      if (std::isinf(traits.lipschitz)) lipschitz = nullptr;
      list.push_back({{"name", info.name},
                      {"formula", info.formula},
                      {"parameters", info.parameters},
                      {"source", info.source},
                      {"simplex", traits.simplex},
                      {"increasing", traits.increasing},
                      {"length_aware", traits.length_aware},
                      {"by_position", traits.by_position},
                      {"sparse", traits.sparse},
                      {"pointwise", traits.pointwise},
                      {"signed", traits.is_signed},
                      {"lipschitz", lipschitz},
                      {"bound", info.bound},
                      {"lemma1", info.lemma1}});
    } else {
      print("{}{}{}\n    {}\n    {}; sup ||J||_2: {}\n    Lemma 1 {}\n    {}\n", info.name,
            info.parameters.empty() ? "" : ":", info.parameters, info.formula, traits_text(traits),
            info.bound, info.lemma1, info.source);
    }
  }
  if (json) print("{}\n", list.dump(2));
  return 0;
}

int list_patterns(bool json) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const PatternInfo& info : patterns()) {
    if (json) {
      list.push_back({{"name", info.name},
                      {"formula", info.formula},
                      {"parameters", info.parameters},
                      {"source", info.source}});
    } else {
      print("{}:{}\n    {}\n    {}\n", info.name, info.parameters, info.formula, info.source);
    }
  }
  if (json) print("{}\n", list.dump(2));
  return 0;
}

}  // namespace

void add_measures(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("measures", "List every metric with unit, formula and source");
  auto json = std::make_shared<bool>(false);
  auto group = std::make_shared<std::string>();
  add_options(*command, {{.member = "MeasuresCommand::group",
                          .value = group.get(),
                          .form = "GROUP",
                          .group = option_group::output,
                          .help = "Only the metrics of this group"},
                         json_option(*json)});
  command->footer("Example: headgauge measures --group weights");
  command->callback([=, &action] { action = [=] { return list_measures(*json, *group); }; });
}

void add_normalizers(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("normalizers", "List the rules that turn scores to weights");
  auto json = std::make_shared<bool>(false);
  add_options(*command, {json_option(*json)});
  command->footer("Example: headgauge normalizers --json");
  command->callback([=, &action] { action = [=] { return list_normalizers(*json); }; });
}

void add_options_list(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("options", "List the options of every command as JSON");
  command->group("");
  command->callback([&action] {
    action = [] {
      print("{}\n", declared_options().dump(2));
      return 0;
    };
  });
}

void add_patterns(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("patterns", "List the patterns that leave a query fewer keys");
  auto json = std::make_shared<bool>(false);
  add_options(*command, {json_option(*json)});
  command->footer("Example: headgauge patterns --json");
  command->callback([=, &action] { action = [=] { return list_patterns(*json); }; });
}

}  // namespace headgauge::cli
