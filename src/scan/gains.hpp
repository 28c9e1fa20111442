// Which of the interventions that were tried lower the loss.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headgauge/compare.hpp"

namespace headgauge {

// An intervention in the whole model, in a layer or in a head, and what it does to the loss.
struct Candidate {
  std::optional<HeadName> head;  // a layer: head.head is -1
  Index intervention = 0;
  MetricCell change;
};

// Every intervention wherever it was tried, by `metric`, a change of the loss that is known there.
std::vector<Candidate> candidates(const Results& results, std::string_view metric = "loss_change");

// What a metric is for the candidate, at the longest length.
std::optional<MetricCell> cell_of(const Results& results, std::string_view metric,
                                  const Candidate& candidate);

// What is worth trying on another text, the largest gain first: of each head (layer) the candidate
// that lowers the loss most, if one does so beyond chance; of the whole model all that do.
std::vector<Candidate> choices(const std::vector<Candidate>& all, const LossGains& gains);

}  // namespace headgauge
