// Finds the interventions that lower the loss.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headgauge/compare.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge {

// An intervention in the whole model, a layer or a head, and the change of the loss.
struct Candidate {
  std::optional<HeadName> head;  // for a layer head.head is -1
  Index intervention = 0;
  MetricCell change;
};

// Returns every intervention at every place where it was tried and `metric`, a change of the loss,
// is defined.
std::vector<Candidate> candidates(const Results& results,
                                  std::string_view metric = metric::loss_change);

// Returns the candidate's cell of a metric at the longest length; `further` picks along another dim
// that the metric may have.
std::optional<MetricCell> cell_of(const Results& results, std::string_view metric,
                                  const Candidate& candidate, Pick further = {});

// Returns the candidates worth trying on another text, largest gain first: for each head (layer)
// the one that lowers the loss most beyond chance, if any; for the whole model all that do.
std::vector<Candidate> choices(const std::vector<Candidate>& all, const LossGains& gains);

}  // namespace headgauge
