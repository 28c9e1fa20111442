#include "results/sentence_template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "results/declaration.hpp"

namespace headgauge::templates {
namespace {

using declaration::refuse;

std::vector<std::string> split(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

bool is_number(const std::string& word) {
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) != 0;
}

template <class Value>
const Value* find(const std::vector<std::pair<std::string_view, Value>>& names,
                  std::string_view name) {
  const auto found = std::ranges::find(names, name, &std::pair<std::string_view, Value>::first);
  return found == names.end() ? nullptr : &found->second;
}

// Reads the words of one term.
class TermReader {
 public:
  TermReader(const std::string& text, const Known& known, const std::string& place)
      : text_(text), words_(split(text)), known_(known), place_(place) {}

  Term read() {
    Term term = subject();
    while (next_ < words_.size()) {
      if (takes("among")) {
        term.among = given();
      } else if (takes("at")) {
        std::string dim = word();
        term.at = {std::move(dim), std::stoll(word())};
      } else if (takes("of")) {
        term.of = std::make_shared<const Term>(read_head());
      } else {
        fail("is not understood");
      }
    }
    return term;
  }

 private:
  Term read_head() {
    Term term = subject();
    term.head = true;
    if (takes("among")) term.among = given();
    return term;
  }

  Term subject() {
    using enum Term::Kind;
    static const std::vector<std::pair<std::string_view, Term::Kind>> kArguments = {
        {"flags", flags}, {"cutoff", cutoff}, {"label", label}, {"any", any}};
    Term term;
    term.head = takes("head");
    const std::string first = word();
    if (const auto* kind = find(kArguments, first)) {
      term.kind = *kind;
      term.name = word();
      if (*kind == label) term.at = {term.name, std::stoll(word())};
      if (*kind == any) require(known_.metric, term.name, "metric");
      if (*kind == flags || *kind == cutoff) require(known_.flag, term.name, "flag");
    } else if (first == "length") {
      term.kind = label;
      term.name = first;
      term.at = {first, -1};
    } else if (first == "heads") {
      term.kind = heads;
    } else if (is_number(first)) {
      term.kind = number;
      term.name = first;
    } else {
      term.sign = first == "max" ? 1 : first == "min" ? -1 : 0;
      term.name = term.sign == 0 ? first : word();
      take_part(term);
      term.kind = term.sign == 0 && known_.given(term.name) ? Term::Kind::given : metric;
      if (term.kind == metric) require(known_.metric, term.name, "metric or given name");
    }
    return term;
  }

  // Takes the part of an estimate, as in "loss.low".
  void take_part(Term& term) const {
    using enum Term::Part;
    static const std::vector<std::pair<std::string_view, Term::Part>> kParts = {
        {"error", error}, {"low", low}, {"high", high}, {"p", p}, {"rows", rows}};
    const auto dot = term.name.find('.');
    if (dot == std::string::npos) return;
    const auto* part = find(kParts, std::string_view(term.name).substr(dot + 1));
    if (part == nullptr) fail("names no part of an estimate");
    term.part = *part;
    term.name.resize(dot);
  }

  std::string given() {
    std::string name = word();
    if (name != "heads") require(known_.given, name, "given name");
    return name;
  }
  void require(const std::function<bool(std::string_view)>& is_known, const std::string& name,
               const char* what) const {
    if (!is_known(name)) fail(fmt::format("names \"{}\", which is no {}", name, what));
  }
  bool takes(std::string_view name) {
    if (next_ >= words_.size() || words_[next_] != name) return false;
    ++next_;
    return true;
  }
  std::string word() {
    if (next_ == words_.size()) fail("ends too early");
    return words_[next_++];
  }
  [[noreturn]] void fail(const std::string& what) const {
    refuse(place_, fmt::format("\"{}\" {}", text_, what));
  }

  const std::string& text_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
  const Known& known_;
  const std::string& place_;
};

class Parser {
 public:
  Parser(std::string_view text, const Known& known, const std::string& place)
      : left_(text), known_(known), place_(place) {}

  Template all() {
    Template text = until("");
    if (!left_.empty()) refuse(place_, fmt::format("\"{}\" closes nothing", left_));
    return text;
  }

  Node condition(std::string text) const {
    Node node{Node::Kind::condition, {}};
    node.negated = takes(text, "not ");
    for (const char* op : {" <= ", " >= ", " != ", " = ", " < ", " > "}) {
      const auto at = text.find(op);
      if (at == std::string::npos) continue;
      node.words = op;
      node.other = term(text.substr(at + node.words.size()));
      text.resize(at);
      break;
    }
    node.term = term(text);
    return node;
  }

 private:
  // Reads up to one of the characters `ends`, which is left.
  Template until(std::string_view ends) {
    Template text;
    while (!left_.empty() && ends.find(left_[0]) == ends.npos) {
      if (left_[0] == '}' || left_[0] == ']') break;
      if (takes("[")) {
        text.push_back({Node::Kind::part, {}});
        text.back().branches = branches(']');
      } else if (takes("{")) {
        place(text);
      } else {
        const auto end = left_.find_first_of(ends.empty() ? "{}[]" : "{}[]|");
        text.push_back({Node::Kind::words, std::string(left_.substr(0, end))});
        left_.remove_prefix(std::min(end, left_.size()));
      }
    }
    return text;
  }

  // Reads templates between bars, and the character that ends them.
  std::vector<Template> branches(char end) {
    std::vector<Template> all;
    do {
      all.push_back(until(std::string("|") + end));
    } while (takes("|"));
    close(end);
    return all;
  }

  void place(Template& text) {
    if (takes("or ")) {
      text.push_back({Node::Kind::either, {}});
      text.back().branches = branches('}');
      return;
    }
    if (takes("each ")) return each(text);
    if (takes("join ")) return join(text);
    const auto end = left_.find('}');
    std::string inside(left_.substr(0, end));
    left_.remove_prefix(std::min(end, left_.size()));
    close('}');
    if (takes(inside, "?")) {
      text.push_back(condition(inside));
    } else if (!is_phrase(inside, text)) {
      text.push_back(simple(inside));
    }
  }

  void each(Template& text) {
    const auto quote = left_.find('\'');
    Node node{Node::Kind::each, {}};
    node.term = term(std::string(left_.substr(0, quote)));
    left_.remove_prefix(std::min(quote, left_.size()));
    node.before_last = node.between = quoted();
    if (left_.starts_with('\'')) node.before_last = quoted();
    node.branches = {until("}")};
    close('}');
    text.push_back(std::move(node));
  }

  void join(Template& text) {
    Node node{Node::Kind::join, {}};
    node.before_last = node.between = quoted();
    for (Node& part : until("}")) node.branches.push_back({std::move(part)});
    close('}');
    for (Template& item : node.branches) item[0].kind = Node::Kind::either;
    text.push_back(std::move(node));
  }

  // Takes 'words' and a space.
  std::string quoted() {
    const auto end = left_.find("' ", 1);
    if (!left_.starts_with('\'') || end == left_.npos) refuse(place_, "a separator is missing");
    std::string words(left_.substr(1, end - 1));
    left_.remove_prefix(end + 2);
    return words;
  }

  // Puts the parts of a phrase into the text if the words name one.
  bool is_phrase(const std::string& inside, Template& text) const {
    const auto space = inside.find(' ');
    const auto phrase = known_.phrases.find(inside.substr(0, space));
    if (phrase == known_.phrases.end()) return false;
    const std::string what = space == std::string::npos ? "" : inside.substr(space + 1);
    std::string words = phrase->second;
    for (auto at = words.find('$'); at != std::string::npos; at = words.find('$')) {
      words.replace(at, 1, what);
    }
    std::ranges::move(Parser(words, known_, place_).all(), std::back_inserter(text));
    return true;
  }

  Node simple(const std::string& inside) const {
    static const std::vector<std::pair<std::string_view, Format>> kFormats = {
        {"nats", Format::nats},   {"with_error", Format::with_error},
        {"%", Format::percent},   {"whole", Format::whole},
        {"2g", Format::short_number}};
    if (const auto at = inside.find('?'); at != std::string::npos) {
      const auto bar = inside.find('|', at);
      if (bar == std::string::npos) refuse(place_, "a plural is missing in " + inside);
      Node node{Node::Kind::plural, {}};
      node.term = term(inside.substr(0, at));
      node.branches = {{{Node::Kind::words, inside.substr(at + 1, bar - at - 1)}},
                       {{Node::Kind::words, inside.substr(bar + 1)}}};
      return node;
    }
    Node node{Node::Kind::place, {}};
    const auto colon = inside.find(':');
    node.term = term(inside.substr(0, colon));
    if (colon == std::string::npos) return node;
    const auto* format = find(kFormats, std::string_view(inside).substr(colon + 1));
    if (format == nullptr) refuse(place_, "an unknown format in " + inside);
    node.format = *format;
    return node;
  }

  Term term(const std::string& text) const { return TermReader(text, known_, place_).read(); }

  static bool takes(std::string& text, std::string_view words) {
    if (!text.starts_with(words)) return false;
    text.erase(0, words.size());
    return true;
  }
  bool takes(std::string_view words) {
    if (!left_.starts_with(words)) return false;
    left_.remove_prefix(words.size());
    return true;
  }
  void close(char end) {
    if (!takes(std::string_view(&end, 1))) refuse(place_, fmt::format("\"{}\" is missing", end));
  }

  std::string_view left_;
  const Known& known_;
  const std::string& place_;
};

}  // namespace

Template parse(std::string_view text, const Known& known, const std::string& place) {
  return Parser(text, known, place).all();
}

Template parse_conditions(const std::string& text, const Known& known, const std::string& place) {
  Template all;
  std::istringstream conditions(text);
  for (std::string one; std::getline(conditions >> std::ws, one, ',');) {
    all.push_back(Parser("", known, place).condition(one));
  }
  return all;
}

}  // namespace headgauge::templates
