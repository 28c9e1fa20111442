#include "scan/recommend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "headgauge/cells.hpp"
#include "headgauge/compare.hpp"
#include "results/change_sentences.hpp"
#include "scan/selectivity.hpp"

namespace headgauge {
namespace {

constexpr double kGainErrors = 2.0;
constexpr double kLeastGain = 1e-4;    // nats; less is rounding
constexpr double kByChance = 0.02275;  // of a normal variable to lie below -2
constexpr std::size_t kMostLines = 8;  // of recommendations; all of them are in the flags

// An intervention in the whole model, in a layer or in a head.
struct Candidate {
  std::optional<HeadName> head;  // a layer: head.head is -1
  Index intervention = 0;
  MetricCell change;
  bool lowers() const { return lowers_loss(change); }
};

// The intervention's name, and what was fitted to the head.
std::string label(const Results& results, const Candidate& candidate) {
  const std::string name =
      results.require_coord(intervention_dimension(results)).label(candidate.intervention);
  const auto keys = results.settings.find("fitted_keys");
  if (keys == results.settings.end() || !keys->contains(name)) return name;
  const std::string key = keys->at(name).get<std::string>();
  const char* join = name.find(':') == std::string::npos ? ":" : ",";
  if (!candidate.head || candidate.head->head < 0) {
    return fmt::format("{}{}{} fitted", name, join, key);
  }
  const auto value = find_cell(results, "fitted_parameter",
                               {{"layer", candidate.head->layer_index},
                                {"head", candidate.head->head_index},
                                {intervention_dimension(results), candidate.intervention}});
  return value ? fmt::format("{}{}{}={}", name, join, key, value->value) : name;
}

std::optional<MetricCell> cell_of(const Results& results, const char* metric,
                                  const Candidate& candidate) {
  const std::string dim = intervention_dimension(results);
  const LabelledArray* array = results.metric(metric);
  if (array == nullptr) return std::nullopt;
  const Pick intervention{dim, candidate.intervention};
  if (!candidate.head) return find_cell(results, metric, {intervention});
  const Pick layer{"layer", candidate.head->layer_index};
  if (!array->has_dim("head")) return find_cell(results, metric, {layer, intervention});
  return find_cell(results, metric, {layer, {"head", candidate.head->head_index}, intervention});
}

// Every intervention wherever it was tried, with a known change of the loss.
std::vector<Candidate> candidates(const Results& results) {
  std::vector<Candidate> found;
  const LabelledArray* change = results.metric("loss_change");
  if (change == nullptr) return found;
  const Index interventions = results.coord_size(intervention_dimension(results));
  const auto add = [&](std::optional<HeadName> head) {
    for (Index k = 1; k < interventions; ++k) {
      Candidate candidate{head, k, {}};
      const auto cell = cell_of(results, "loss_change", candidate);
      if (!cell) continue;
      candidate.change = *cell;
      found.push_back(std::move(candidate));
    }
  };
  if (!change->has_dim("layer")) {
    add(std::nullopt);
    return found;
  }
  const auto layers = results.coord_numbers("layer"), heads = results.coord_numbers("head");
  for (std::size_t l = 0; l < layers.size(); ++l) {
    HeadName name{static_cast<Index>(l), 0, static_cast<int>(layers[l]), -1};
    if (!change->has_dim("head")) {
      add(name);
      continue;
    }
    for (std::size_t h = 0; h < heads.size(); ++h) {
      name.head_index = static_cast<Index>(h);
      name.head = static_cast<int>(heads[h]);
      add(name);
    }
  }
  return found;
}

// Of each head (layer, model) the candidate that lowers the loss most, if one does so clearly.
std::vector<Candidate> best_of_each(const std::vector<Candidate>& all) {
  std::vector<Candidate> best;
  for (const Candidate& candidate : all) {
    if (!candidate.lowers()) continue;
    const auto same = std::ranges::find_if(best, [&](const Candidate& other) {
      if (!candidate.head) return true;
      return candidate.head->layer == other.head->layer && candidate.head->head == other.head->head;
    });
    if (same == best.end()) {
      best.push_back(candidate);
    } else if (candidate.change.value < same->change.value) {
      *same = candidate;
    }
  }
  // The largest gain first.
  std::ranges::stable_sort(best, {}, [](const Candidate& c) { return c.change.value; });
  return best;
}

std::string chosen(const Results& results, const char* option) {
  const auto found = results.settings.find(option);
  return found == results.settings.end() || !found->is_string() || *found == "all"
             ? std::string()
             : fmt::format("{} {}", option, found->get<std::string>());
}

std::string who(const Results& results, const Candidate& candidate) {
  if (candidate.head && candidate.head->head >= 0) {
    return fmt::format("head {}", candidate.head->text());
  }
  if (candidate.head) return fmt::format("layer {}", candidate.head->layer);
  const std::string layers = chosen(results, "layers"), heads = chosen(results, "heads");
  if (layers.empty() && heads.empty()) return "all heads";
  return layers.empty() || heads.empty() ? layers + heads : fmt::format("{}, {}", layers, heads);
}

std::string recommendation(const Results& results, const Candidate& candidate) {
  std::string text = fmt::format("{}: {}, loss {} nats", who(results, candidate),
                                 label(results, candidate), with_error(candidate.change));
  if (const auto kl = cell_of(results, "kl", candidate))
    text += fmt::format(", KL {:.2g}", kl->value);
  if (candidate.head && candidate.head->head >= 0) {
    if (const auto change = cell_of(results, "output_change", candidate)) {
      text += fmt::format(", output changed by {} %", rounded(100 * change->value));
    }
    Candidate original = candidate;
    original.intervention = 0;
    const auto before = cell_of(results, "effective_tokens", original);
    const auto after = cell_of(results, "effective_tokens", candidate);
    if (before && after) {
      text +=
          fmt::format(", effective tokens {} -> {}", rounded(before->value), rounded(after->value));
    }
  }
  return text;
}

std::vector<SummaryLine> recommendations(const Results& results) {
  std::vector<SummaryLine> lines;
  const auto say = [&](std::string text, std::vector<std::string> heads = {}) {
    lines.push_back({std::move(text), {}, std::move(heads)});
  };
  const std::vector<Candidate> all = candidates(results);
  if (all.empty()) return lines;
  const int length = longest_length(results).value_or(0);
  if (std::ranges::all_of(all,
                          [](const Candidate& c) { return std::isnan(c.change.standard_error); })) {
    say(fmt::format(
        "No recommendation: a text of {} tokens has too few blocks for a standard error.", length));
    return lines;
  }
  const std::vector<Candidate> best = best_of_each(all);
  const auto lower = std::ranges::count_if(all, &Candidate::lowers);
  const bool whole = !all.front().head.has_value();
  if (best.empty()) {
    const auto least = std::ranges::min_element(all, {}, [](const Candidate& c) {
      return std::isnan(c.change.value) ? HUGE_VAL : c.change.value;
    });
    say(fmt::format(
        "No recommendation: nothing lowers the loss at L = {} by more than 2 standard errors; "
        "nearest: {} in {}, loss {} nats.",
        length, label(results, *least), who(results, *least), with_error(least->change)));
    return lines;
  }
  if (!whole) {
    say(fmt::format(
        "Of {} interventions tried, {} {} the loss at L = {} by more than 2 standard errors; by "
        "chance alone {} would: check the choice on another text.",
        all.size(), lower, lower == 1 ? "lowers" : "lower", length,
        rounded(kByChance * static_cast<double>(all.size()))));
  }
  for (std::size_t i = 0; i < std::min(best.size(), kMostLines); ++i) {
    const auto& head = best[i].head;
    say(fmt::format("Recommended for {}.", recommendation(results, best[i])),
        head && head->head >= 0 ? std::vector{head->text()} : std::vector<std::string>{});
  }
  if (best.size() > kMostLines) {
    say(fmt::format("And {} more that gain less.", best.size() - kMostLines));
  }
  return lines;
}

}  // namespace

bool lowers_loss(const MetricCell& change) {
  return change.value < -kGainErrors * change.standard_error && change.value < -kLeastGain;
}

std::vector<HeadName> changed_heads(const Results& results) {
  std::vector<HeadName> heads = measured_heads(results);
  if (results.metric("output_change") == nullptr) return heads;
  const std::string dim = intervention_dimension(results);
  std::erase_if(heads, [&](const HeadName& head) {
    for (Index k = 1; k < results.coord_size(dim); ++k) {
      if (find_cell(results, "output_change",
                    {{"layer", head.layer_index}, {"head", head.head_index}, {dim, k}})) {
        return false;
      }
    }
    return true;
  });
  return heads;
}

std::vector<Flag> recommend_heads(const Results& results) {
  std::vector<Flag> flags;
  for (const Candidate& candidate : best_of_each(candidates(results))) {
    if (!candidate.head || candidate.head->head < 0) continue;
    Flag flag;
    flag.name = "recommended";
    flag.layer = candidate.head->layer;
    flag.head = candidate.head->head;
    flag.length = longest_length(results).value_or(0);
    flag.value = candidate.change.value;
    flag.threshold = -kGainErrors * candidate.change.standard_error;
    flag.source = "docs/mathematics.md 7a";
    flag.advice = recommendation(results, candidate);
    flags.push_back(std::move(flag));
  }
  return flags;
}

std::vector<SummaryLine> summarize_comparison(const Results& results) {
  std::vector<SummaryLine> lines;
  if (results.changes) lines = change_sentences(results, *results.changes);
  for (std::string& text : selectivity_of_patterns(results))
    lines.push_back({std::move(text), {}, {}});
  for (SummaryLine& line : recommendations(results)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace headgauge
