#include "results/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>

#include "headgauge/catalogue.hpp"
#include "results/catalogue_text.hpp"
#include "results/declaration.hpp"

namespace headgauge {
namespace {

using templates::Piece;
using templates::Term;

// Writes a cell in a format: 3 digits; with sign and 4 decimals; that with its error; times 100;
// whole; 2 digits.
std::string written(const MetricCell& cell, double value, std::string_view format) {
  if (format.empty()) return rounded(value);
  if (format == "%") return rounded(value * 100);
  if (format == "nats") return fmt::format("{:+.4f}", value);
  if (format == "with_error") return with_error(cell);
  if (format == "whole") return fmt::format("{:.0f}", value);
  if (format == "2g") return fmt::format("{:.2g}", value);
  declaration::refuse(std::string(format), "there is no such format");
}

// Writes a part of a cell; nothing if it is undefined.
std::optional<Fact> fact_of(const MetricCell& cell, std::string_view part,
                            std::string_view format) {
  using Kind = FactSource::Kind;
  if (part == "rows") return computed(static_cast<double>(cell.rows));
  const auto [kind, value] = part == "error"  ? std::pair(Kind::standard_error, cell.standard_error)
                             : part == "low"  ? std::pair(Kind::low, cell.low)
                             : part == "high" ? std::pair(Kind::high, cell.high)
                             : part == "p"    ? std::pair(Kind::p, cell.p)
                                              : std::pair(Kind::cell, cell.value);
  if (!std::isfinite(value)) return std::nullopt;
  return Fact{written(cell, value, format),
              {kind, cell.metric, cell.index},
              value,
              format == "%" ? 100.0 : 1.0};
}

bool compares(double a, const std::string& op, double b) {
  return op == "="    ? a == b
         : op == "!=" ? a != b
         : op == "<"  ? a < b
         : op == ">"  ? a > b
         : op == "<=" ? a <= b
                      : a >= b;
}

bool takes(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// Writes templates into one line.
class LineWriter {
 public:
  LineWriter(const Results& results, const Scope& scope) : results_(results), scopes_{&scope} {}

  // Appends the text; if a place of it has no value, appends nothing and returns false.
  bool write(std::string_view text) {
    const auto length = line_.text.size(), facts = line_.facts.size(), heads = line_.heads.size();
    const auto all = templates::pieces(text);
    if (std::ranges::all_of(all, [&](const Piece& piece) { return write(piece); })) return true;
    line_.text.resize(length);
    line_.facts.resize(facts);
    line_.heads.resize(heads);
    return false;
  }
  SummaryLine line() { return std::move(line_); }

 private:
  bool write(const Piece& piece) {
    if (piece.kind == Piece::Kind::place) return write_place(piece.text);
    if (piece.kind == Piece::Kind::words) {
      line_.text += piece.text;
    } else {
      write_one_of(piece.text);
    }
    return true;
  }

  // Writes the first of the texts between bars that has a value.
  bool write_one_of(std::string_view text) {
    return std::ranges::any_of(templates::alternatives(text),
                               [&](std::string_view one) { return write(one); });
  }

  bool write_place(std::string_view text) {
    if (takes(text, "?")) return holds(templates::parse_condition(std::string(text)));
    if (takes(text, "or ")) return write_one_of(text);
    if (takes(text, "each ")) return write_each(templates::parse_list(text));
    if (takes(text, "join ")) {
      const templates::List list = templates::parse_list(text);
      const auto items = templates::pieces(list.text);
      return write_items(list, items.size(),
                         [&](std::size_t i) { return write_one_of(items[i].text); });
    }
    const auto space = std::min(text.find(' '), text.size());
    const auto phrase = catalogue().phrases.find(std::string(text.substr(0, space)));
    if (phrase != catalogue().phrases.end()) {
      std::string words = phrase->second;
      const std::string_view what = text.substr(std::min(space + 1, text.size()));
      for (auto at = words.find('$'); at != words.npos; at = words.find('$')) {
        words.replace(at, 1, what);
      }
      return write(words);
    }
    if (const auto question = text.find('?'); question != text.npos) {
      const auto forms = templates::alternatives(text.substr(question + 1));
      const auto count = number(templates::parse_term(std::string(text.substr(0, question))));
      return count && write(std::round(count->value) == 1 ? forms.front() : forms.back());
    }
    const auto colon = std::min(text.find(':'), text.size());
    return write_value(templates::parse_term(std::string(text.substr(0, colon))),
                       text.substr(std::min(colon + 1, text.size())));
  }

  bool write_value(const Term& term, std::string_view format) {
    const auto given = find(term);
    if (!given) return false;
    if (const auto* words = std::get_if<std::string>(&*given)) {
      line_.text += *words;
    } else if (const auto* spot = std::get_if<Spot>(&*given)) {
      if (!spot->head) return false;
      line_.heads.push_back(spot->head->text());
      line_.text += (term.head ? "head " : "") + line_.heads.back();
    } else {
      auto fact = as_fact(*given, term, format);
      if (!fact) return false;
      line_.text += fact->text;
      line_.facts.push_back(*std::move(fact));
    }
    return true;
  }

  bool write_each(const templates::List& list) {
    const Given* given = lookup(list.name);
    if (given == nullptr) return false;
    const auto& scopes = std::get<std::vector<Scope>>(*given);
    return write_items(list, scopes.size(), [&](std::size_t i) {
      scopes_.push_back(&scopes[i]);
      const bool written = write(list.text);
      scopes_.pop_back();
      return written;
    });
  }

  // Writes the items that have a value, with separators; returns false if none has.
  template <class Write>
  bool write_items(const templates::List& list, std::size_t count, const Write& write_item) {
    bool any = false;
    const bool outer = first_;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t before = line_.text.size();
      if (any) line_.text += i + 1 == count ? list.before_last : list.between;
      first_ = !any;
      if (write_item(i)) {
        any = true;
      } else {
        line_.text.resize(before);
      }
    }
    first_ = outer;
    return any;
  }

  bool holds(const templates::Condition& condition) {
    bool holds = false;
    if (condition.right) {
      const auto left = number(condition.left), right = number(*condition.right);
      holds = left && right && compares(left->value, condition.op, right->value);
    } else {
      const auto given = find(condition.left);
      holds = given && (!std::holds_alternative<MetricCell>(*given) || number(condition.left));
    }
    return holds != condition.negated;
  }

  std::optional<Fact> number(const Term& term) const {
    const auto given = find(term);
    return given ? as_fact(*given, term, "") : std::nullopt;
  }
  static std::optional<Fact> as_fact(const Given& given, const Term& term,
                                     std::string_view format) {
    if (const auto* fact = std::get_if<Fact>(&given)) return *fact;
    const auto* cell = std::get_if<MetricCell>(&given);
    return cell == nullptr ? std::nullopt : fact_of(*cell, term.part, format);
  }

  std::optional<Given> find(const Term& term) const {
    using Kind = FactSource::Kind;
    const auto fact = [](double value, FactSource source) {
      return Fact{fmt::format("{}", value), std::move(source), value};
    };
    if (std::isdigit(term.name[0]) != 0) {
      return Fact{term.name, {Kind::constant}, std::stod(term.name)};
    }
    if (term.verb == "label") {
      const auto place = place_along(term);
      return place ? std::optional<Given>(label_of(results_, term.name, *place)) : std::nullopt;
    }
    if (term.verb == "flags") {
      const auto count = std::ranges::count(results_.flags, term.name, &Flag::name);
      return fact(static_cast<double>(count), {Kind::flags, term.name});
    }
    if (term.verb == "cutoff") return fact(flag_info(term.name).cutoff, {Kind::constant});
    if (term.verb == "any") {
      if (results_.metric(term.name) == nullptr) return std::nullopt;
      return std::string();
    }
    if (!term.verb.empty()) return extreme(term);
    if (term.name == "first") return first_ ? std::optional<Given>("") : std::nullopt;
    const Given* given = lookup(term.name);
    if (given == nullptr) return cell(term);
    const auto* all = std::get_if<std::vector<HeadName>>(given);
    if (all == nullptr) return *given;
    return fact(static_cast<double>(all->size()), {Kind::heads});
  }

  const Given* lookup(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto found = (*scope)->names.find(name);
      if (found != (*scope)->names.end()) return &found->second;
    }
    return nullptr;
  }

  // Returns the place that a term names along a dim; negative ones count from the end.
  std::optional<Index> place_along(const Term& term) const {
    const Dimension* labels = results_.coord(term.dim);
    if (labels == nullptr) return std::nullopt;
    const Index place = term.place < 0 ? labels->size() + term.place : term.place;
    return place >= 0 && place < labels->size() ? std::optional(place) : std::nullopt;
  }

  std::optional<Given> cell(const Term& term, const Spot& spot = {}) const {
    std::vector<Pick> picks(spot.picks.begin(), spot.picks.end());
    const auto add = [&](const Picks& more) {
      picks.insert(picks.end(), more.begin(), more.end());
    };
    if (!term.dim.empty()) {
      const auto place = place_along(term);
      if (!place) return std::nullopt;
      picks.emplace_back(term.dim, *place);
    }
    const auto of = term.of ? find(*term.of) : std::nullopt;
    if (term.of && !of) return std::nullopt;
    if (of) add(std::get<Spot>(*of).picks);
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) add((*scope)->picks);
    return find_cell(results_, term.name, picks);
  }

  // Finds the first head with the largest (smallest) value, or that value.
  std::optional<Given> extreme(const Term& term) const {
    const Given* among = lookup(term.among.empty() ? "compared" : term.among);
    if (among == nullptr) among = lookup("heads");
    if (among == nullptr) return std::nullopt;
    std::optional<Given> best;
    double most = 0;
    for (const HeadName& head : std::get<std::vector<HeadName>>(*among)) {
      const auto found = cell(term, spot_of(head));
      if (!found) continue;
      const double value = std::get<MetricCell>(*found).value * (term.verb == "max" ? 1 : -1);
      if (best && value <= most) continue;
      best = term.head ? Given(spot_of(head)) : *found;
      most = value;
    }
    return best;
  }

  const Results& results_;
  std::vector<const Scope*> scopes_;
  bool first_ = false;  // of items that have a value
  SummaryLine line_;
};

std::optional<SummaryLine> made(const Sentence& sentence, const Results& results,
                                const Scope& scope) {
  const auto words = [&](const std::string& text) {
    LineWriter writer(results, scope);
    writer.write(text);
    return writer.line().text;
  };
  LineWriter writer(results, scope);
  if (!writer.write(sentence.text)) return std::nullopt;
  SummaryLine line = writer.line();
  if (!sentence.states_facts) line.facts.clear();
  line.lead = sentence.lead;
  line.verdict = sentence.verdict;
  line.aside = sentence.aside;
  line.means = words(sentence.means);
  if (const std::string next = words(sentence.next); !next.empty()) line.next = next_command(next);
  return line;
}

}  // namespace

Sentence read_sentence(nlohmann::json object, const std::string& group) {
  declaration::Keys keys(std::move(object), "sentences of " + group);
  Sentence sentence;
  sentence.name = keys.text("name");
  sentence.about = keys.text("about");
  sentence.place = keys.take<int>("place");
  std::istringstream conditions(keys.find<std::string>("when").value_or(""));
  for (std::string one; std::getline(conditions >> std::ws, one, ',');) {
    sentence.text += "{?" + one + "}";
  }
  sentence.text += keys.text("text");
  sentence.means = keys.find<std::string>("means").value_or("");
  sentence.next = keys.find<std::string>("next").value_or("");
  sentence.lead = keys.find<bool>("lead").value_or(false);
  sentence.verdict = keys.find<std::string>("verdict").value_or("");
  sentence.aside = keys.find<bool>("aside").value_or(false);
  sentence.spare = keys.find<bool>("spare").value_or(false);
  sentence.states_facts = keys.find<bool>("facts").value_or(true);
  keys.done();
  return sentence;
}

Spot spot_of(const HeadName& head) {
  return {{{"layer", head.layer_index}, {"head", head.head_index}}, head};
}

Fact computed(double value) {
  return computed(value, fmt::format("{:.0f}", value));
}

Fact computed(double value, std::string text) {
  return {std::move(text), {FactSource::Kind::derived}, value};
}

Fact label_of(const Results& results, const std::string& coord, Index place) {
  const double value = results.coord_numbers(coord)[place];
  return {fmt::format("{}", value), {FactSource::Kind::coordinate, coord, {place}}, value};
}

std::vector<SummaryLine> sentences_about(std::string_view subject, const Results& results,
                                         const Scope& scope) {
  constexpr std::size_t kFew = 4;  // spare sentences are made up to so many
  std::vector<std::pair<const Sentence*, std::optional<SummaryLine>>> found;
  std::size_t count = 0;
  for (const Sentence& sentence : catalogue().sentences) {
    if (sentence.about != subject) continue;
    found.emplace_back(&sentence, made(sentence, results, scope));
    if (!sentence.spare && !sentence.lead && found.back().second) ++count;
  }
  std::vector<SummaryLine> lines;
  for (auto& [sentence, line] : found) {
    if (!line || (sentence->spare && count >= kFew)) continue;
    if (sentence->spare) ++count;
    lines.push_back(*std::move(line));
  }
  return lines;
}

void add_sentences(std::string_view subject, const Results& results, const Scope& scope,
                   std::vector<SummaryLine>& lines) {
  std::ranges::move(sentences_about(subject, results, scope), std::back_inserter(lines));
}

std::optional<SummaryLine> make_sentence(std::string_view name, const Results& results,
                                         const Scope& scope) {
  const auto found = std::ranges::find(catalogue().sentences, name, &Sentence::name);
  if (found == catalogue().sentences.end()) {
    declaration::refuse(std::string(name), "the sentence is not declared");
  }
  return made(*found, results, scope);
}

const std::string& next_command(std::string_view name) {
  const auto found = catalogue().commands.find(std::string(name));
  if (found == catalogue().commands.end()) {
    declaration::refuse(std::string(name), "the command is not declared");
  }
  return found->second;
}

}  // namespace headgauge
