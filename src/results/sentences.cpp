#include "results/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/catalogue.hpp"
#include "results/catalogue_text.hpp"
#include "results/declaration.hpp"

namespace headgauge {
namespace {

using templates::Format;
using templates::Node;
using templates::Template;
using templates::Term;

std::string written(const MetricCell& cell, double value, Format format) {
  switch (format) {
    case Format::nats:
      return fmt::format("{:+.4f}", value);
    case Format::with_error:
      return with_error(cell);
    case Format::percent:
      return rounded(value * 100);
    case Format::whole:
      return fmt::format("{:.0f}", value);
    case Format::short_number:
      return fmt::format("{:.2g}", value);
    case Format::number:
      break;
  }
  return rounded(value);
}

// Writes a part of a cell; nothing if it is undefined.
std::optional<Fact> fact_of(const MetricCell& cell, Term::Part part, Format format) {
  using Kind = FactSource::Kind;
  const auto fact = [&](Kind kind, double value) -> std::optional<Fact> {
    if (!std::isfinite(value)) return std::nullopt;
    const double scale = format == Format::percent ? 100 : 1;
    return Fact{written(cell, value, format), {kind, cell.metric, cell.index}, value, scale};
  };
  switch (part) {
    case Term::Part::error:
      return fact(Kind::standard_error, cell.standard_error);
    case Term::Part::low:
      return fact(Kind::low, cell.low);
    case Term::Part::high:
      return fact(Kind::high, cell.high);
    case Term::Part::p:
      return fact(Kind::p, cell.p);
    case Term::Part::rows:
      return computed(static_cast<double>(cell.rows));
    case Term::Part::value:
      break;
  }
  return fact(Kind::cell, cell.value);
}

bool compares(double a, const std::string& op, double b) {
  return op == " = "    ? a == b
         : op == " != " ? a != b
         : op == " < "  ? a < b
         : op == " > "  ? a > b
         : op == " <= " ? a <= b
                        : a >= b;
}

// Writes templates into one line.
class LineWriter {
 public:
  LineWriter(const Results& results, const Scope& scope, bool states_facts)
      : results_(results), scopes_{&scope}, states_facts_(states_facts) {}

  // Appends the text; if a place of it has no value, appends nothing and returns false.
  bool write(const Template& text) {
    const auto length = line_.text.size(), facts = line_.facts.size(), heads = line_.heads.size();
    if (std::ranges::all_of(text, [&](const Node& node) { return write(node); })) return true;
    line_.text.resize(length);
    line_.facts.resize(facts);
    line_.heads.resize(heads);
    return false;
  }
  SummaryLine line() { return std::move(line_); }

 private:
  bool write(const Node& node) {
    const auto one_of_them = [&] {
      return std::ranges::any_of(node.branches, [&](const Template& t) { return write(t); });
    };
    switch (node.kind) {
      case Node::Kind::words:
        line_.text += node.words;
        return true;
      case Node::Kind::place:
        return write_place(node);
      case Node::Kind::plural: {
        const auto count = number(node.term);
        return count && write(node.branches[std::round(count->value) == 1 ? 0 : 1]);
      }
      case Node::Kind::condition:
        return holds(node) != node.negated;
      case Node::Kind::either:
        return one_of_them();
      case Node::Kind::part:
        one_of_them();
        return true;
      case Node::Kind::each:
        return write_each(node);
      case Node::Kind::join:
        return write_items(node, node.branches.size(),
                           [&](std::size_t i) { return write(node.branches[i]); });
    }
    return false;
  }

  bool write_place(const Node& node) {
    const auto given = find(node.term);
    if (!given) return false;
    if (const auto* words = std::get_if<std::string>(&*given)) {
      line_.text += *words;
    } else if (const auto* spot = std::get_if<Spot>(&*given)) {
      if (!spot->head) return false;
      line_.heads.push_back(spot->head->text());
      line_.text += (node.term.head ? "head " : "") + line_.heads.back();
    } else {
      auto fact = as_fact(*given, node.term, node.format);
      if (!fact) return false;
      line_.text += fact->text;
      if (states_facts_) line_.facts.push_back(*std::move(fact));
    }
    return true;
  }

  bool write_each(const Node& node) {
    const auto given = find(node.term);
    const auto* list = given ? std::get_if<std::vector<Scope>>(&*given) : nullptr;
    return list != nullptr && write_items(node, list->size(), [&](std::size_t i) {
             scopes_.push_back(&(*list)[i]);
             const bool written = write(node.branches[0]);
             scopes_.pop_back();
             return written;
           });
  }

  // Writes the items that have a value, with separators; returns false if none has.
  template <class Write>
  bool write_items(const Node& node, std::size_t count, const Write& write_item) {
    bool any = false;
    const bool outer = first_;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t before = line_.text.size();
      if (any) line_.text += i + 1 == count ? node.before_last : node.between;
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

  bool holds(const Node& node) {
    if (!node.words.empty()) {
      const auto left = number(node.term), right = number(node.other);
      return left && right && compares(left->value, node.words, right->value);
    }
    const auto given = find(node.term);
    return given && (!std::holds_alternative<MetricCell>(*given) ||
                     as_fact(*given, node.term, Format::number));
  }

  std::optional<Fact> number(const Term& term) const {
    const auto given = find(term);
    return given ? as_fact(*given, term, Format::number) : std::nullopt;
  }
  static std::optional<Fact> as_fact(const Given& given, const Term& term, Format format) {
    if (const auto* fact = std::get_if<Fact>(&given)) return *fact;
    const auto* cell = std::get_if<MetricCell>(&given);
    return cell == nullptr ? std::nullopt : fact_of(*cell, term.part, format);
  }

  std::optional<Given> find(const Term& term) const {
    using Kind = FactSource::Kind;
    switch (term.kind) {
      case Term::Kind::number:
        return Fact{term.name, {Kind::constant}, std::stod(term.name)};
      case Term::Kind::label:
        if (!place_along(term)) return std::nullopt;
        return label_of(results_, term.name, *place_along(term));
      case Term::Kind::heads: {
        const auto* all = heads_of("heads");
        const auto count = static_cast<double>(all == nullptr ? 0 : all->size());
        return Fact{fmt::format("{}", count), {Kind::heads}, count};
      }
      case Term::Kind::flags: {
        const auto count =
            static_cast<double>(std::ranges::count(results_.flags, term.name, &Flag::name));
        return Fact{fmt::format("{}", count), {Kind::flags, term.name}, count};
      }
      case Term::Kind::cutoff: {
        const double cutoff = flag_info(term.name).cutoff;
        return Fact{fmt::format("{}", cutoff), {Kind::constant}, cutoff};
      }
      case Term::Kind::any:
        if (results_.metric(term.name) == nullptr) return std::nullopt;
        return std::string();
      case Term::Kind::metric:
        return term.sign == 0 ? cell(term) : extreme(term);
      case Term::Kind::given:
        break;
    }
    if (term.name == "first" && first_) return std::string();
    const Given* given = lookup(term.name);
    return given == nullptr ? std::nullopt : std::optional(*given);
  }

  const Given* lookup(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto found = (*scope)->names.find(name);
      if (found != (*scope)->names.end()) return &found->second;
    }
    return nullptr;
  }
  const std::vector<HeadName>* heads_of(const std::string& name) const {
    const Given* given = lookup(name);
    if (given == nullptr && name != "heads") return heads_of("heads");
    return given == nullptr ? nullptr : std::get_if<std::vector<HeadName>>(given);
  }

  // Returns the place that a term names along a dim; negative ones count from the end.
  std::optional<Index> place_along(const Term& term) const {
    const auto& [dim, place] = *term.at;
    const Dimension* labels = results_.coord(dim);
    if (labels == nullptr) return std::nullopt;
    const Index index = place < 0 ? labels->size() + place : place;
    return index >= 0 && index < labels->size() ? std::optional(index) : std::nullopt;
  }

  std::optional<Given> cell(const Term& term, const Spot& spot = {}) const {
    std::vector<Pick> picks(spot.picks.begin(), spot.picks.end());
    if (term.at) {
      const auto place = place_along(term);
      if (!place) return std::nullopt;
      picks.emplace_back(term.at->first, *place);
    }
    std::optional<Given> of;
    if (term.of) {
      of = find(*term.of);
      const auto* place = of ? std::get_if<Spot>(&*of) : nullptr;
      if (place == nullptr) return std::nullopt;
      picks.insert(picks.end(), place->picks.begin(), place->picks.end());
    }
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      picks.insert(picks.end(), (*scope)->picks.begin(), (*scope)->picks.end());
    }
    return find_cell(results_, term.name, picks);
  }

  // Finds the first head with the largest (smallest) value, or that value.
  std::optional<Given> extreme(const Term& term) const {
    const auto* heads = heads_of(term.among);
    if (heads == nullptr) return std::nullopt;
    std::optional<Given> best;
    std::optional<HeadName> whose;
    double most = 0;
    for (const HeadName& head : *heads) {
      auto found = cell(term, spot_of(head));
      if (!found) continue;
      const double value = term.sign * std::get<MetricCell>(*found).value;
      if (whose && value <= most) continue;
      best = std::move(found);
      whose = head;
      most = value;
    }
    return whose && term.head ? std::optional<Given>(spot_of(*whose)) : best;
  }

  const Results& results_;
  std::vector<const Scope*> scopes_;
  bool states_facts_;
  bool first_ = false;  // of items that have a value
  SummaryLine line_;
};

std::optional<SummaryLine> made(const Sentence& sentence, const Results& results,
                                const Scope& scope) {
  const auto words = [&](const Template& text) {
    LineWriter writer(results, scope, false);
    writer.write(text);
    return writer.line().text;
  };
  LineWriter writer(results, scope, sentence.states_facts);
  if (!writer.write(sentence.text)) return std::nullopt;
  SummaryLine line = writer.line();
  line.aside = sentence.aside;
  line.means = words(sentence.means);
  if (const std::string next = words(sentence.next); !next.empty()) line.next = next_command(next);
  return line;
}

}  // namespace

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
  for (const Sentence& sentence : sentences()) {
    if (sentence.about != subject) continue;
    found.emplace_back(&sentence, made(sentence, results, scope));
    if (!sentence.spare && found.back().second) ++count;
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
  const auto found = std::ranges::find(sentences(), name, &Sentence::name);
  if (found == sentences().end()) {
    declaration::refuse(std::string(name), "the sentence is not declared");
  }
  return made(*found, results, scope);
}

}  // namespace headgauge
