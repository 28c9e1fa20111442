// Makes the table of what the heads of a model do: a row for each role.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/text.hpp"
#include "results/sentences.hpp"
#include "view/declared_table.hpp"

namespace headgauge::view {
namespace {

constexpr Index kNamedShare = 5;  // heads are named if fewer than one in this many have the role
constexpr std::size_t kMostNamed = 6, kMostPlaces = 3;

using Raised = std::vector<const Flag*>;

std::string name_of(const Flag& flag) {
  return fmt::format("{}.{}", flag.layer, flag.head);
}

// Returns the heads that have the role most strongly.
std::string strongest(const Raised& heads) {
  std::string text;
  for (const Flag* flag : std::span(heads).first(std::min(heads.size(), kMostNamed))) {
    text += " " + name_of(*flag);
  }
  return heads.size() > kMostNamed ? text + fmt::format(" and {} more", heads.size() - kMostNamed)
                                   : text;
}

// Gives each token on which heads rest: its text, its positions and its layers.
std::vector<Scope> resting_places(const Results& results) {
  struct Place {
    std::string positions;
    FoundSink sink;
  };
  std::vector<std::pair<std::string, Place>> places;
  auto sinks = results.text.sinks.value_or(std::vector<FoundSink>());
  std::ranges::stable_sort(sinks, std::greater(), &FoundSink::heads);
  for (const FoundSink& sink : sinks) {
    const std::string key = sink.position == 0 ? "" : "later " + sink.token.value_or("");
    auto place = std::ranges::find(places, key, [](const auto& one) { return one.first; });
    if (place == places.end()) {
      if (places.size() == kMostPlaces) continue;
      place = places.insert(place, {key, {"", sink}});
    }
    Place& all = place->second;
    all.positions += fmt::format("{}{}", all.positions.empty() ? "" : ", ", sink.position);
    all.sink.first_layer = std::min(all.sink.first_layer, sink.first_layer);
    all.sink.last_layer = std::max(all.sink.last_layer, sink.last_layer);
  }
  std::vector<Scope> scopes;
  for (const auto& [token, place] : places) {
    Scope& scope = scopes.emplace_back();
    scope.give("key", results.model.attention == "cross" ? "key" : "token")
        .count("resting", place.sink.heads)
        .count("first_layer", place.sink.first_layer)
        .count("last_layer", place.sink.last_layer)
        .give("positions", place.positions)
        .give_if("is_first", token.empty());
    const std::string word = place.sink.token.value_or("");
    const auto start = word.find_first_not_of(' ');  // a line must not break behind its quote
    if (start != word.npos) scope.give("token", legible(word.substr(start)));
  }
  return scopes;
}

}  // namespace

std::optional<Table> roles_table(const Results& results) {
  std::vector<std::pair<const FlagInfo*, Raised>> roles;
  std::map<std::string, int> of_head;
  for (const FlagInfo& info : flag_infos()) {
    Raised raised;
    for (const Flag& flag : results.flags) {
      if (flag.name == info.name && info.role) raised.push_back(&flag);
    }
    if (raised.empty()) continue;
    for (const Flag* flag : raised) ++of_head[name_of(*flag)];
    std::ranges::stable_sort(raised, std::greater(), &Flag::value);
    roles.emplace_back(&info, std::move(raised));
  }
  if (roles.empty() || results.command != Command::scan) return std::nullopt;
  std::ranges::stable_sort(roles, std::greater(), [](const auto& role) {
    return std::pair(role.first->name == "sinks", role.second.size());
  });
  const auto heads = std::ssize(measured_heads(results));
  Scope scope;
  const Flag& example = *roles.back().second.front();
  scope.count("heads", heads)
      .count("layer", example.layer)
      .count("head", example.head)
      .count("two", std::ranges::count_if(of_head, [](const auto& one) { return one.second > 1; }))
      .give("percent", fmt::format("{:.0f}", 100 * flag_info("sinks").cutoff))
      .give("tokens", resting_places(results));
  const auto words = [&](const std::string& name) {
    const auto line = make_sentence(name, results, scope);
    return line ? line->text : "";
  };
  Table table{.name = "roles", .label = "", .title = words("what_heads_do"), .lead = true};
  table.columns = {{.title = ""}, {.title = "", .number = false}, {.title = "", .number = false}};
  for (const auto& [info, raised] : roles) {
    const bool named = std::ssize(raised) * kNamedShare < heads;
    table.rows.push_back({{fmt::format("{}", raised.size()), static_cast<double>(raised.size())},
                          {info->name},
                          {words("role_" + info->name) + (named ? " " + strongest(raised) : "")}});
  }
  return table;
}

}  // namespace headgauge::view
