// Results on several texts, each measured by itself.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Returns the runs of each text, one of each model, from the runs of each model in any order. Drops
// their standard errors: the scatter between the texts replaces them. Throws BadInputError, naming
// the model's file, for fewer than 4 texts, and unless each text has just one run of each model.
std::vector<std::vector<Results>> runs_by_text(std::span<const std::span<const Results>> models,
                                               std::span<const std::string> files);

// Returns the mean over results that have the same cells, one for each text, with the errors of the
// scatter between them. A value is undefined if one of the results lacks it, and a number that
// names something, such as a head, unless all agree. Keeps the flags that all have, and leaves out
// metrics that some lack or whose labels differ, as a notice says. Sets the setting `pairs`, their
// number; the settings at `runs` describe the runs that they join, and get the texts of all.
Results mean_over_texts(std::span<const Results> results, const std::vector<std::string>& runs);

// Returns the notice that these metrics were left out.
std::string missing_on_some_texts(const std::vector<std::string>& names);

}  // namespace headgauge
