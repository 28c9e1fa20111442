#include "experiments/retrieval_heads.hpp"

#include <algorithm>
#include <cmath>

#include "headgauge/metric_names.hpp"
#include "results/declared.hpp"
#include "results/mean_of.hpp"
#include "statistics/false_discoveries.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

// Returns the mean over the groups, which share no case, with its error.
MeanWithError mean_over_groups(const AnswerChanges& changes, std::size_t head, Index left_out) {
  MeanWithError sum{0, 0, kKnownError};
  double groups = 0;
  for (Index g = 0; g < std::ssize(changes); ++g) {
    if (g == left_out) continue;
    const MeanWithError one = mean_of(changes[g][head]);
    // Welch and Satterthwaite's formula for several errors, one after another.
    sum.degrees_of_freedom = welch_degrees_of_freedom(sum.standard_error, sum.degrees_of_freedom,
                                                      one.standard_error, one.degrees_of_freedom);
    sum.value += one.value;
    sum.standard_error = std::hypot(sum.standard_error, one.standard_error);
    ++groups;
  }
  return {sum.value / groups, sum.standard_error / groups, sum.degrees_of_freedom};
}

}  // namespace

std::vector<bool> find_retrieval_heads(const AnswerChanges& changes, double level, Index left_out) {
  std::vector<double> p;
  for (std::size_t head = 0; head < changes.front().size(); ++head) {
    p.push_back(t_test(mean_over_groups(changes, head, left_out), 0, Tail::above).p);
  }
  std::vector<bool> found;
  for (const double adjusted : adjusted_p_values(p)) found.push_back(adjusted <= level);
  return found;
}

void write_retrieval_heads(std::span<const AnswerChanges> changes, std::span<const HeadName> heads,
                           double level, Results& results) {
  LabelledArray& role = add_declared(results, metric::retrieval_head);
  LabelledArray& of_found =
      add_declared(results, metric::found_answer_change).with_standard_errors().with_rows();
  LabelledArray& of_others =
      add_declared(results, metric::other_answer_change).with_standard_errors().with_rows();
  for (Index k = 0; k < std::ssize(changes); ++k) {
    const std::vector<bool> found = find_retrieval_heads(changes[k], level);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const bool known = std::ranges::all_of(changes[k], [&](const std::vector<Estimate>& group) {
        return std::isfinite(group[h].standard_error);
      });
      if (known) role({heads[h].layer_index, heads[h].head_index, k}) = found[h] ? 1 : 0;
    }
    for (Index g = 0; g < std::ssize(changes[k]); ++g) {
      const std::vector<bool> elsewhere = find_retrieval_heads(changes[k], level, g);
      for (const bool is_found : {true, false}) {
        std::vector<double> values;
        for (std::size_t h = 0; h < heads.size(); ++h) {
          const double change = changes[k][g][h].value;
          if (elsewhere[h] == is_found && !std::isnan(change)) values.push_back(change);
        }
        if (values.empty()) continue;
        const MeanWithError mean = mean_with_error(values);
        (is_found ? of_found : of_others)
            .set({k, g}, {values.size() > 1 ? mean.value : values.front(), mean.standard_error,
                          std::ssize(values), mean.degrees_of_freedom});
      }
    }
  }
}

}  // namespace headgauge
