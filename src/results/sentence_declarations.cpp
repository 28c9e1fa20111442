// Reads the sentences of the catalogue.
#include <algorithm>

#include "results/catalogue_text.hpp"
#include "results/declaration.hpp"

namespace headgauge {
namespace {

using declaration::Keys;
using declaration::refuse;
using templates::Known;

// Refuses a name that is no command, in whatever part of the template.
void require_commands(const templates::Template& text, const Catalogue& catalogue,
                      const std::string& place) {
  for (const templates::Node& node : text) {
    if (!node.words.empty() && node.kind == templates::Node::Kind::words &&
        !catalogue.commands.contains(node.words)) {
      refuse(place, "there is no command \"" + node.words + "\"");
    }
    for (const templates::Template& branch : node.branches) {
      require_commands(branch, catalogue, place);
    }
  }
}

Sentence read_sentence(nlohmann::json object, const Known& known, const Catalogue& catalogue) {
  std::string place = "sentence " + object.value("name", "without a name");
  Keys keys(std::move(object), place);
  Sentence read;
  read.name = keys.text("name");
  read.about = keys.text("about");
  read.place = keys.take<int>("place");
  if (keys.has("when")) {
    read.text = templates::parse_conditions(keys.text("when"), known, place);
  }
  std::ranges::move(templates::parse(keys.text("text"), known, place),
                    std::back_inserter(read.text));
  if (keys.has("means")) read.means = templates::parse(keys.text("means"), known, place);
  if (keys.has("next")) read.next = templates::parse(keys.text("next"), known, place);
  require_commands(read.next, catalogue, place);
  read.aside = keys.find<bool>("aside").value_or(false);
  read.spare = keys.find<bool>("spare").value_or(false);
  read.states_facts = keys.find<bool>("facts").value_or(true);
  keys.done();
  return read;
}

}  // namespace

void read_sentences(const nlohmann::json& files, Catalogue& catalogue) {
  using Words = std::map<std::string, std::string>;
  Known known;
  Words given;  // what each given name is
  for (const nlohmann::json& file : files) {
    given.merge(file.value("given", Words()));
    known.phrases.merge(file.value("phrases", Words()));
  }
  known.given = [&](std::string_view name) { return given.contains(std::string(name)); };
  known.metric = [&](std::string_view name) {
    return std::ranges::find(catalogue.metrics, name, &MetricInfo::name) !=
           catalogue.metrics.end();
  };
  known.flag = [&](std::string_view name) {
    return std::ranges::find(catalogue.flags, name, &FlagInfo::name) != catalogue.flags.end();
  };
  for (const nlohmann::json& file : files) {
    for (const nlohmann::json& one : file.value("sentences", nlohmann::json::array())) {
      catalogue.sentences.push_back(read_sentence(one, known, catalogue));
    }
  }
  std::ranges::stable_sort(catalogue.sentences, {}, &Sentence::place);
}

}  // namespace headgauge
