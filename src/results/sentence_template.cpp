#include "results/sentence_template.hpp"

#include <algorithm>
#include <regex>

#include "results/declaration.hpp"

namespace headgauge::templates {
namespace {

using declaration::refuse;
using Found = std::match_results<std::string_view::const_iterator>;

// Returns the size of the bracketed text that begins here.
std::size_t bracketed(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' || text[i] == '[') ++depth;
    if (text[i] != '}' && text[i] != ']') continue;
    if (--depth > 0) continue;
    if ((text[0] == '{') == (text[i] == '}')) return i + 1;
    break;
  }
  refuse(std::string(text), "a bracket is not closed");
}

}  // namespace

std::vector<Piece> pieces(std::string_view text) {
  std::vector<Piece> found;
  while (!text.empty()) {
    const bool is_words = text[0] != '{' && text[0] != '[';
    const auto size = is_words ? std::min(text.find_first_of("{["), text.size()) : bracketed(text);
    const std::string_view inside = is_words ? text.substr(0, size) : text.substr(1, size - 2);
    if (is_words && inside.find_first_of("}]") != inside.npos) {
      refuse(std::string(inside), "a bracket closes nothing");
    }
    found.push_back({is_words         ? Piece::Kind::words
                     : text[0] == '{' ? Piece::Kind::place
                                      : Piece::Kind::optional,
                     inside});
    text.remove_prefix(size);
  }
  return found;
}

std::vector<std::string_view> alternatives(std::string_view text) {
  std::vector<std::string_view> found;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' || text[i] == '[') i += bracketed(text.substr(i)) - 1;
    if (text[i] != '|') continue;
    found.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  found.push_back(text.substr(begin));
  return found;
}

Term parse_term(const std::string& text) {
  static const std::regex kTerm(
      R"((head )?(?:(max|min|flags|cutoff|label|any) )?(\d[\d.]*|[a-z]\w*)(?:\.(error|low|high|p|rows))?)"
      R"((?: (-?\d+))?(?: among (\w+))?(?: of ((?:max |min )?\w+))?(?: at (\w+) (-?\d+))? ?)");
  static constexpr std::string_view kVerbs[] = {"max", "min", "flags", "cutoff", "label", "any"};
  std::smatch found;
  if (!std::regex_match(text, found, kTerm)) refuse(text, "is no term of a sentence");
  Term term;
  const auto verb = std::ranges::find(kVerbs, found.str(2));
  if (verb != std::end(kVerbs)) term.verb = *verb;
  term.head = found[1].matched;
  term.name = found.str(3);
  term.part = found.str(4);
  term.among = found.str(6);
  if (term.name == "length") {  // the longest
    term.verb = "label";
    term.place = -1;
  }
  if (term.verb == "label") term.dim = term.name;
  if (found[5].matched) term.place = std::stoll(found.str(5));
  if (found[7].matched) {
    Term of = parse_term(found.str(7));
    of.head = true;
    term.of = std::make_shared<const Term>(std::move(of));
  }
  if (found[8].matched) {
    term.dim = found.str(8);
    term.place = std::stoll(found.str(9));
  }
  return term;
}

Condition parse_condition(const std::string& text) {
  static const std::regex kCondition(R"((not )?(.+?)(?: (=|!=|<|>|<=|>=) (.+))?)");
  std::smatch found;
  if (!std::regex_match(text, found, kCondition)) refuse(text, "is no condition");
  Condition condition{parse_term(found.str(2)), found.str(3), std::nullopt, found[1].matched};
  if (found[4].matched) condition.right = parse_term(found.str(4));
  return condition;
}

List parse_list(std::string_view text) {
  static const std::regex kList(R"((?:(\w+) )?'([^']*)' (?:'([^']*)' )?)");
  Found found;
  if (!std::regex_search(text.begin(), text.end(), found, kList,
                         std::regex_constants::match_continuous)) {
    refuse(std::string(text), "is no list");
  }
  return {found.str(1), found.str(2), found.str(found[3].matched ? 3 : 2),
          text.substr(static_cast<std::size_t>(found.length()))};
}

}  // namespace headgauge::templates
