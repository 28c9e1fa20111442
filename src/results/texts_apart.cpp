#include "results/texts_apart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/text.hpp"
#include "results/diff_notices.hpp"
#include "statistics/inference.hpp"

namespace headgauge {
namespace {

constexpr std::size_t kFewestTexts = 4;  // as for an error between documents

std::string text_of(const Results& run) {
  if (run.text.names.empty()) return "an unknown text";
  return "the text " + legible(run.text.names.front());
}

bool same_text(const Results& a, const Results& b) {
  return compare_texts(a, b) == SameTexts::yes && a.text.tokens == b.text.tokens;
}

Results without_errors(Results run) {
  for (auto& [name, metric] : run.metrics) {
    metric.standard_error.clear();
    metric.degrees_of_freedom.clear();
  }
  return run;
}

// Returns the mean of the cells at one place of all arrays; numbers that name something have none
// unless all agree. Equal values have no error unless they are 0: whole numbers may agree on a few
// texts and differ on the next.
Estimate mean_at(std::span<const LabelledArray* const> arrays, std::size_t at) {
  std::vector<double> values;
  Estimate mean;
  for (const LabelledArray* array : arrays) {
    const double value = array->values[at];
    if (!std::isfinite(value) || array->is_none(value)) return {};
    values.push_back(value);
    if (!array->rows.empty()) mean.rows += array->rows[at];
  }
  const MeanWithError found = mean_with_error(values);
  mean.value = found.value;
  const bool alike = std::ranges::all_of(values, [&](double v) { return v == values.front(); });
  if (arrays.front()->identifier && !alike) return {};
  if (alike && found.value != 0) return mean;
  mean.standard_error = found.standard_error;
  mean.degrees_of_freedom = found.degrees_of_freedom;
  return mean;
}

void append_text(TextRecord& all, const TextRecord& more) {
  const auto append = [](auto& list, const auto& others) {
    list.insert(list.end(), others.begin(), others.end());
  };
  append(all.names, more.names);
  append(all.sha256, more.sha256);
  append(all.tokens, more.tokens);
  append(all.tokens_total, more.tokens_total);
  all.sinks.reset();
}

// Returns the names of the metrics that at least one of the results has.
std::vector<std::string> all_metrics(std::span<const Results> results) {
  std::vector<std::string> names;
  for (const Results& one : results) {
    for (const auto& [name, metric] : one.metrics) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

// Returns the flags that all results have, with the means of their values. What else differs
// between the texts is left out.
std::vector<Flag> flags_of_all(std::span<const Results> results) {
  std::vector<Flag> kept;
  for (Flag flag : results.front().flags) {
    const auto same = [&](const Flag& other) {
      return other.name == flag.name && other.layer == flag.layer && other.head == flag.head &&
             other.change == flag.change;
    };
    std::vector<double> values;
    for (const Results& one : results) {
      const auto found = std::ranges::find_if(one.flags, same);
      if (found == one.flags.end()) break;
      values.push_back(found->value);
      if (found->advice != flag.advice) flag.advice.clear();
    }
    if (values.size() < results.size()) continue;
    flag.value = mean_with_error(values).value;
    kept.push_back(std::move(flag));
  }
  return kept;
}

}  // namespace

std::string missing_on_some_texts(const std::vector<std::string>& names) {
  return "left out, for some of the texts lack them or have other labels: " + names_text(names);
}

std::vector<std::vector<Results>> runs_by_text(std::span<const std::span<const Results>> models,
                                               std::span<const std::string> files) {
  const std::span<const Results> first = models.front();
  std::vector<std::vector<Results>> texts(first.size());
  for (std::size_t m = 0; m < models.size(); ++m) {
    if (models[m].size() != first.size() || first.size() < kFewestTexts) {
      throw BadInputError(fault(
          files[m], fmt::format("as many results as the others, {} or more", kFewestTexts),
          std::to_string(models[m].size()), "scan every model on the same texts, each by itself"));
    }
    for (std::size_t text = 0; text < texts.size(); ++text) {
      const auto same = [&](const Results& run) { return same_text(run, first[text]); };
      const auto count = std::ranges::count_if(models[m], same);
      if (count != 1) {
        throw BadInputError(fault(files[m], "one result on " + text_of(first[text]),
                                  std::to_string(count),
                                  "scan every model on the same texts, each by itself"));
      }
      texts[text].push_back(without_errors(*std::ranges::find_if(models[m], same)));
    }
  }
  return texts;
}

Results mean_over_texts(std::span<const Results> results, const std::vector<std::string>& runs) {
  Results mean = results.front();
  mean.metrics.clear();
  mean.notices.clear();
  std::vector<std::string> missing;
  for (const std::string& name : all_metrics(results)) {
    std::vector<const LabelledArray*> arrays;
    for (const Results& one : results) {
      const LabelledArray* array = one.metric(name);
      if (array == nullptr) break;
      if (arrays.empty() || array->dims() == arrays.front()->dims()) arrays.push_back(array);
    }
    if (arrays.size() < results.size()) {
      missing.push_back(name);
      continue;
    }
    const LabelledArray& metric = *arrays.front();
    LabelledArray& all = mean.add_metric(name, metric);
    if (!metric.identifier) all.with_standard_errors();
    metric.each(
        [&](std::span<const Index> cell, std::size_t at) { all.set(cell, mean_at(arrays, at)); });
  }
  mean.flags = flags_of_all(results);
  mean.settings["pairs"] = results.size();
  for (const Results& one : results.subspan(1)) {
    append_text(mean.text, one.text);
    mean.partial = mean.partial || one.partial;
    for (const std::string& run : runs) {
      const nlohmann::ordered_json::json_pointer texts(run + "/text");
      for (const auto& text : one.settings.at(texts)) mean.settings[texts].push_back(text);
    }
  }
  std::vector<NamedRun> named;
  for (const Results& one : results) named.push_back({&one, text_of(one)});
  inherit_notices(mean.notices, named);
  if (!missing.empty()) mean.notices.push_back(missing_on_some_texts(missing));
  return mean;
}

}  // namespace headgauge
