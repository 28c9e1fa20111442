// The sentences of the catalogue: all are read here as the program reads them, and every name in
// them is known.
#include "results/sentences.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <stdexcept>
#include <string>

#include "headgauge/metric_names.hpp"
#include "results/catalogue_text.hpp"
#include "results/sentence_template.hpp"

namespace headgauge {
namespace {

using templates::Piece;

// Visits every place of a template and all its parts.
class Reader {
 public:
  Reader() {
    const auto files = nlohmann::json::parse(catalogue_text());
    for (const auto& file : files) {
      if (!file.contains("given")) continue;
      for (const auto& [name, what] : file["given"].items()) given_.insert(name);
    }
  }

  void read(std::string_view text) {
    for (const Piece& piece : templates::pieces(text)) {
      if (piece.kind == Piece::Kind::place) read_place(std::string(piece.text));
      if (piece.kind == Piece::Kind::optional) read_alternatives(piece.text);
    }
  }
  const std::set<std::string>& given() const { return given_; }
  const std::set<std::string>& used() const { return used_; }

 private:
  void read_alternatives(std::string_view text) {
    for (const std::string_view one : templates::alternatives(text)) read(one);
  }

  void read_place(const std::string& text) {
    const std::string first = text.substr(0, text.find(' '));
    const auto phrase = catalogue().phrases.find(first);
    if (text.starts_with('?')) {
      const templates::Condition condition = templates::parse_condition(text.substr(1));
      read_term(condition.left);
      if (condition.right) read_term(*condition.right);
    } else if (first == "or") {
      read_alternatives(std::string_view(text).substr(3));
    } else if (first == "each" || first == "join") {
      const templates::List list = templates::parse_list(std::string_view(text).substr(5));
      if (first == "each") use(list.name);
      read(list.text);
    } else if (phrase != catalogue().phrases.end()) {
      std::string words = phrase->second;
      for (auto at = words.find('$'); at != words.npos; at = words.find('$')) {
        words.replace(at, 1, text.substr(std::min(first.size() + 1, text.size())));
      }
      read(words);
    } else {
      read_term(templates::parse_term(text.substr(0, text.find_first_of("?:"))));
    }
  }

  void read_term(const templates::Term& term) {
    if (term.verb == "flags" || term.verb == "cutoff") {
      EXPECT_NO_THROW(flag_info(term.name)) << term.name;
    } else if (term.verb == "label" || std::isdigit(term.name[0]) != 0) {
      return;
    } else if (!term.verb.empty() || !given_.contains(term.name)) {
      EXPECT_NE(find_metric_info(term.name), nullptr) << term.name;
    } else {
      use(term.name);
    }
    if (!term.among.empty()) use(term.among);
    if (term.of) read_term(*term.of);
  }

  void use(const std::string& name) {
    EXPECT_TRUE(given_.contains(name)) << name;
    used_.insert(name);
  }

  std::set<std::string> given_, used_;
};

TEST(Sentences, SayWhetherTheyAreTheAnswerAndOfWhatKind) {
  nlohmann::json declared = {{"name", "n"}, {"about", "a"}, {"place", 1}, {"text", "It is."}};
  EXPECT_FALSE(read_sentence(declared, "g").lead);
  EXPECT_EQ(read_sentence(declared, "g").verdict, "");
  declared.update({{"lead", true}, {"verdict", "unsure"}});
  EXPECT_TRUE(read_sentence(declared, "g").lead);
  EXPECT_EQ(read_sentence(declared, "g").verdict, "unsure");
}

TEST(Sentences, NameWhatIsKnown) {
  Reader reader;
  std::set<std::string> names;
  for (const Sentence& sentence : catalogue().sentences) {
    SCOPED_TRACE(sentence.name);
    EXPECT_TRUE(names.insert(sentence.name).second) << "stands twice";
    reader.read(sentence.text);
    reader.read(sentence.means);
    reader.read(sentence.next);
  }
  EXPECT_GE(names.size(), 40u);
  for (const std::string& name : reader.given()) {
    EXPECT_EQ(find_metric_info(name), nullptr) << name << " is a metric too";
    if (name == "compared") continue;  // max and min look there
    EXPECT_TRUE(reader.used().contains(name)) << name << " is in no sentence";
  }
}

// Expects that every command exists which some form of the text names.
void expect_commands(std::string_view text) {
  for (const Piece& piece : templates::pieces(text)) {
    if (piece.kind == Piece::Kind::words) {
      EXPECT_NO_THROW(next_command(piece.text)) << piece.text;
    }
    if (piece.kind != Piece::Kind::optional) continue;
    for (const std::string_view one : templates::alternatives(piece.text)) expect_commands(one);
  }
}

TEST(Sentences, NameACommandToRunNext) {
  for (const Sentence& sentence : catalogue().sentences) {
    SCOPED_TRACE(sentence.name);
    expect_commands(sentence.next);
  }
}

TEST(Sentences, AreRefusedIfMalformed) {
  EXPECT_THROW(templates::pieces("a {b"), std::logic_error);
  EXPECT_THROW(templates::pieces("a {b]"), std::logic_error);
  EXPECT_THROW(templates::pieces("a} b"), std::logic_error);
  EXPECT_THROW(templates::parse_term("max a b"), std::logic_error);
  EXPECT_THROW(templates::parse_term("loss.lowest"), std::logic_error);
  EXPECT_THROW(templates::parse_condition(""), std::logic_error);
  EXPECT_THROW(templates::parse_list("heads {head}"), std::logic_error);
  EXPECT_THROW(make_sentence("none", {}, {}), std::logic_error);
  EXPECT_THROW(next_command("none"), std::logic_error);
}

// A part vanishes with its first value that is missing, and with it what it recorded.
TEST(Sentences, LeaveOutWhatHasNoValue) {
  Results results;
  results.set_coord("length", std::vector<double>{8});
  results.set_coord("run", std::vector<double>{0, 1});
  results.add_metric(metric::loss, {"run", "length"}, "nats").values = {2, 1.5};
  std::vector<SummaryLine> lines = sentences_about("diff", results, {});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].text, "At 8 tokens, the loss went from 2.00 to 1.50 nats.");
  ASSERT_EQ(lines[0].facts.size(), 3u);
  EXPECT_EQ(lines[0].facts[2].source.cell, (std::vector<Index>{1, 0}));
  EXPECT_EQ(lines[0].next, next_command("drawn"));
  results.metric(metric::loss)->values[1] = kUndefined;
  EXPECT_TRUE(sentences_about("diff", results, {}).empty());

  Scope scope;
  scope.give("slower", computed(1)).give("judged", computed(2)).give("kind", "mean");
  EXPECT_TRUE(make_sentence("rates_of_scales", results, scope));
  scope.names.erase("kind");
  EXPECT_FALSE(make_sentence("rates_of_scales", results, scope));
}

}  // namespace
}  // namespace headgauge
