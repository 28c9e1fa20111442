// Compares two models on several texts by paired differences.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "headgauge/diff.hpp"
#include "results/diff_notices.hpp"
#include "statistics/inference.hpp"

namespace headgauge {
namespace {

constexpr std::size_t kFewestPairs = 4;  // as many as documents for an error between documents

std::string names_of_texts(const Results& run) {
  if (run.text.names.empty()) return "an unknown text";
  return fmt::format("the text {}", run.text.names.front());
}

// Finds the run of the same texts in `others`; throws BadInputError if there is not just one.
const Results& partner(const Results& run, std::span<const Results> others,
                       const std::string& file) {
  const auto same = [&](const Results& other) {
    return !run.text.sha256.empty() && run.text.sha256 == other.text.sha256 &&
           run.text.tokens == other.text.tokens;
  };
  const auto found = std::ranges::find_if(others, same);
  const auto count = std::ranges::count_if(others, same);
  if (count == 1) return *found;
  throw BadInputError(fault(file, "one result on each text of the other side",
                            fmt::format("{} on {}", count, names_of_texts(run)),
                            "scan both models on the same texts"));
}

// Drops the standard errors: the scatter between the texts replaces them.
Results without_errors(Results run) {
  for (auto& [name, metric] : run.metrics) {
    metric.standard_error.clear();
    metric.degrees_of_freedom.clear();
  }
  return run;
}

// Returns the mean of the cells at one place of all arrays, with the error of its scatter. It is
// undefined if one of them is, or found no value. Equal changes have no error: they may be whole
// numbers, whose scatter four texts do not show.
Estimate mean_at(std::span<const LabelledArray* const> arrays, std::size_t at) {
  std::vector<double> values;
  Estimate mean;
  for (const LabelledArray* array : arrays) {
    const double value = array->values[at];
    values.push_back(array->is_none(value) ? kUndefined : value);
    if (!array->rows.empty()) mean.rows += array->rows[at];
  }
  const MeanWithError found = mean_with_error(values);
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) return {};
  mean.value = found.value;
  const bool alike = std::ranges::all_of(values, [&](double v) { return v == values.front(); });
  if (alike && found.value != 0) return mean;
  mean.standard_error = found.standard_error;
  mean.degrees_of_freedom = found.degrees_of_freedom;
  return mean;
}

class PairedDifference {
 public:
  PairedDifference(std::span<const Results> before, std::span<const Results> after,
                   const DiffOptions& options) {
    if (before.size() != after.size() || before.size() < kFewestPairs) {
      throw BadInputError(fault(options.old_file + " and " + options.new_file,
                                fmt::format("as many results each, {} or more", kFewestPairs),
                                fmt::format("{} and {}", before.size(), after.size()),
                                "scan both models on each text by itself"));
    }
    for (const Results& old : before) {
      const Results& other = partner(old, after, options.new_file);
      partner(other, before, options.old_file);  // only `old`
      pairs_.push_back(diff(without_errors(old), without_errors(other), options));
    }
  }

  Results run() {
    Results& first = pairs_.front();
    results_ = first;
    results_.metrics.clear();
    for (const auto& [name, metric] : first.metrics) add_mean(name, metric);
    describe();
    return std::move(results_);
  }

 private:
  void add_mean(const std::string& name, const LabelledArray& metric) {
    std::vector<const LabelledArray*> arrays;
    for (const Results& pair : pairs_) {
      const LabelledArray* array = pair.metric(name);
      if (array == nullptr || array->dims() != metric.dims()) {
        differing_.push_back(name);
        return;
      }
      arrays.push_back(array);
    }
    LabelledArray mean = metric;
    if (!metric.identifier) mean.with_standard_errors();
    metric.each([&](std::span<const Index> cell, std::size_t at) {
      mean.set(cell, mean_at(arrays, at));
    });
    results_.add_metric(name, std::move(mean));
  }

  void describe() {
    for (const Results& pair : std::span(pairs_).subspan(1)) {
      for (const char* side : {"old", "new"}) {
        for (const auto& text : pair.settings[side]["text"]) {
          results_.settings[side]["text"].push_back(text);
        }
      }
      TextRecord& text = results_.text;
      const auto append = [](auto& all, const auto& more) {
        all.insert(all.end(), more.begin(), more.end());
      };
      append(text.names, pair.text.names);
      append(text.sha256, pair.text.sha256);
      append(text.tokens, pair.text.tokens);
      append(text.tokens_total, pair.text.tokens_total);
      results_.partial = results_.partial || pair.partial;
      std::erase_if(results_.flags, [&](const Flag& flag) {
        return std::ranges::none_of(pair.flags, [&](const Flag& other) {
          return other.name == flag.name && other.layer == flag.layer && other.head == flag.head &&
                 other.change == flag.change;
        });
      });
    }
    results_.text.sinks.reset();
    results_.settings["pairs"] = pairs_.size();
    results_.notices.clear();
    for (const Results& pair : pairs_) {
      for (const std::string& notice : pair.notices) {
        const bool everywhere = std::ranges::all_of(pairs_, [&](const Results& other) {
          return std::ranges::find(other.notices, notice) != other.notices.end();
        });
        const std::string text =
            everywhere ? notice : fmt::format("{}: {}", names_of_texts(pair), notice);
        if (std::ranges::find(results_.notices, text) == results_.notices.end()) {
          results_.notices.push_back(text);
        }
      }
    }
    if (!differing_.empty()) {
      results_.notices.push_back("left out: their labels differ between the texts: " +
                                 names_text(differing_));
    }
  }

  std::vector<Results> pairs_;
  std::vector<std::string> differing_;
  Results results_;
};

}  // namespace

Results diff(std::span<const Results> before, std::span<const Results> after,
             const DiffOptions& options) {
  if (before.size() == 1 && after.size() == 1) return diff(before[0], after[0], options);
  return PairedDifference(before, after, options).run();
}

}  // namespace headgauge
