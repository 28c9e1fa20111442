// Results on several texts, each measured by itself.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Returns the runs in the order of `reference`, each on the same text as the run there. Drops their
// standard errors: the scatter between the texts replaces them. Throws BadInputError, naming
// `file`, for fewer than 4 texts, and unless each text has just one run.
std::vector<Results> in_order_of_texts(std::span<const Results> runs,
                                       std::span<const Results> reference, const std::string& file);

// Returns the mean over results that have the same cells, one for each text, with the errors of the
// scatter between them. A value is undefined if one of the results lacks it, and a number that
// names something, such as a head, unless all agree. Keeps the flags that all have, and leaves out
// metrics that some lack or whose labels differ, as a notice says.
Results mean_over_texts(std::span<const Results> results);

// Returns the notice that these metrics were left out.
std::string missing_on_some_texts(const std::vector<std::string>& names);

}  // namespace headgauge
