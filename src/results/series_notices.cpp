#include "results/series_notices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/text.hpp"
#include "results/diff_notices.hpp"

namespace headgauge {
namespace {

bool is_defined(double value) {
  return !std::isnan(value);
}

class SeriesNotices {
 public:
  SeriesNotices(const std::vector<NamedRun>& runs,
                const std::map<std::string, std::int64_t>& undefined, const Results& joined)
      : runs_(runs), undefined_(undefined), joined_(joined) {}

  std::vector<std::string> sentences() {
    say_what_differs();
    say_what_is_left_out();
    say_what_errors_hold();
    inherit_notices(all_, runs_);
    return std::move(all_);
  }

 private:
  // Lists the names of the runs for which `holds`; empty if there are none.
  template <class Holds>
  std::string where(const Holds& holds) const {
    std::vector<std::string> names;
    for (const NamedRun& run : runs_) {
      if (holds(*run.results)) names.push_back(run.name);
    }
    return names_text(names);
  }

  void say(const std::string& text, const std::string& list) {
    if (!list.empty()) all_.push_back(fmt::format("{}: {}", text, list));
  }

  void say_what_differs() {
    say("interrupted, so with incomplete results",
        where([](const Results& run) { return run.partial; }));
    const Results& first = *runs_.front().results;
    say("another kind of model than in " + legible(runs_.front().name),
        where([&](const Results& run) { return !is_same_kind(run.model, first.model); }));
    std::set<std::string> keys;
    for (const auto& settings : differing_settings(runs_)) {
      for (const auto& [key, value] : settings.items()) keys.insert(key);
    }
    say("a change may be due to settings that differ between the results",
        names_text({keys.begin(), keys.end()}));
  }

  void say_what_is_left_out() {
    std::set<std::string> names;
    for (const NamedRun& run : runs_) {
      for (const auto& [name, metric] : run.results->metrics) {
        const bool everywhere = std::ranges::all_of(
            runs_, [&](const NamedRun& other) { return other.results->metric(name) != nullptr; });
        if (!everywhere && metric.of_heads()) names.insert(name);
      }
    }
    say("metrics that only some of the results have are left out",
        names_text({names.begin(), names.end()}));

    say("undefined at some step in this many heads, so without a change", counts_text(undefined_));
  }

  void say_what_errors_hold() {
    const LabelledArray& change = joined_.require_metric(metric::series_change);
    if (std::ranges::none_of(change.standard_error, is_defined)) return;
    const auto texts = [&](SameTexts found) {
      return std::ranges::all_of(runs_, [&](const NamedRun& run) {
        return compare_texts(*runs_.front().results, *run.results) == found;
      });
    };
    if (texts(SameTexts::yes)) {
      all_.push_back("all results are of the same text: " + std::string(kIndependentRuns));
    } else {
      all_.emplace_back(
          "the results are not shown to be of the same text: a change may be due to the texts");
    }
    say("results of an earlier version, which do not say how many batches their errors come from "
        "(the errors count as exact, so that more is listed than the level allows)",
        where(lacks_freedom));
  }

  const std::vector<NamedRun>& runs_;
  const std::map<std::string, std::int64_t>& undefined_;
  const Results& joined_;
  std::vector<std::string> all_;
};

}  // namespace

std::vector<nlohmann::ordered_json> differing_settings(const std::vector<NamedRun>& runs) {
  std::vector<nlohmann::ordered_json> all;
  for (const NamedRun& run : runs) {
    all.push_back(nlohmann::ordered_json::object());
    for (const NamedRun& other : runs) {
      all.back().update(different_settings(*run.results, *other.results));
    }
  }
  return all;
}

std::string untested_notice(const Results& joined) {
  std::vector<std::string> untested;
  const auto metrics = joined.coord_names("series_metric");
  const LabelledArray& changes = joined.require_metric(metric::series_change);
  for (Index m = 0; m < std::ssize(metrics); ++m) {
    const LabelledArray change = changes.isel("series_metric", m);
    if (std::ranges::any_of(change.values, is_defined) &&
        std::ranges::none_of(change.standard_error, is_defined)) {
      untested.push_back(metrics[static_cast<std::size_t>(m)]);
    }
  }
  if (untested.empty()) return "";
  return "without standard errors, so not tested: " + names_text(untested);
}

std::vector<std::string> series_notices(const std::vector<NamedRun>& runs,
                                        const std::map<std::string, std::int64_t>& undefined,
                                        const Results& joined) {
  return SeriesNotices(runs, undefined, joined).sentences();
}

}  // namespace headgauge
