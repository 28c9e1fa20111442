// Messages about runs that were stopped, and about runs that resume them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/results_folder.hpp"
#include "headgauge/text.hpp"
#include "session/running.hpp"

namespace headgauge {
namespace {

std::string layers_finished(const Results& results) {
  if (results.layers_done == 0) return "";
  std::string text = results.layers_done == 1
                         ? "1 layer was finished"
                         : fmt::format("{} layers were finished", results.layers_done);
  // A bidirectional model is run once for each length.
  const auto lengths = static_cast<std::size_t>(results.coord_size("length"));
  const std::size_t asked = results.settings["lengths"].size();
  if (lengths < asked) text += fmt::format(" at {} of {} lengths", lengths, asked);
  return text;
}

// Example: "12 of 96 points"; empty: none.
std::string points_finished(const Results& results, const std::string& metric) {
  const LabelledArray* error = results.metric(metric);
  if (error == nullptr) return "";
  const auto done = std::ranges::count_if(error->values, [](double v) { return !std::isnan(v); });
  return done == 0 ? "" : fmt::format("{} of {} points", done, error->values.size());
}

std::string experiments_finished(const Results& results) {
  std::string text;
  for (const auto& [name, title, random_tokens] : experiments()) {
    const std::string points =
        points_finished(results, experiment_metric(name, metric::error_mean));
    if (points.empty() || !random_tokens) continue;
    text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", points, name);
  }
  const std::string layers = layers_finished(results);
  if (layers.empty()) return text.empty() ? text : text + " were finished";
  return fmt::format("{}{}{}", text, text.empty() ? "" : ", ", layers);
}

std::string counted(Index count, const char* one, const char* several) {
  return count == 0 ? "" : fmt::format("{} {}", count, count == 1 ? one : several);
}

}  // namespace

std::string finished_part(const Results& results) {
  switch (results.command) {
    case Command::compare:
      return counted(results.coord_size(intervention_dimension(results)) - 1,
                     "intervention was finished", "interventions were finished");
    case Command::validate:
      if (results.coord("text") == nullptr) return "";
      return counted(results.coord_size("text"), "text was measured", "texts were measured");
    case Command::simulate: {
      const std::string points = points_finished(results, metric::error_mean);
      return points.empty() ? "" : points + " were finished";
    }
    case Command::reproduce_tokens:
      return experiments_finished(results);
    case Command::plan:
      return "";
    default:
      return layers_finished(results);
  }
}

std::string interruption(const Results& results, const Run& run) {
  if (!results.partial) return "";
  const std::string finished = finished_part(results);
  std::error_code none;
  const bool is_kept =
      !run.out.empty() &&
      std::filesystem::exists(journal_path(run.out, run.shard.value_or(Share{})), none);
  const std::string advice = is_kept ? "; run the same command again to resume" : "";
  if (finished.empty()) {
    return "interrupted" + (is_kept ? advice : " before anything was finished; nothing was saved");
  }
  if (run.out.empty()) {
    return fmt::format("interrupted; {} but not saved, because there is no Run::out", finished);
  }
  return fmt::format("interrupted; {} and saved in {}, marked partial{}", finished,
                     results_path(run.out), advice);
}

std::string resumption_line(const Journal& journal, Index layers, Index documents) {
  const auto from = journal.resumed(documents);
  if (!from) return fmt::format("resuming from {}", journal.path());
  // After the experiment, "1 ssmax/" means the first intervention.
  std::string stage = from->stage.substr(from->stage.find('/') + 1);
  if (stage.ends_with('/')) stage.pop_back();
  return fmt::format("resuming {}{}",
                     layers == 0 ? fmt::format("from layer {}", from->layer)
                     : from->layer < layers
                         ? fmt::format("from layer {} of {}", from->layer, layers)
                         : fmt::format("after all {} layers", layers),
                     stage.empty() ? "" : fmt::format(" ({})", legible(stage)));
}

}  // namespace headgauge
