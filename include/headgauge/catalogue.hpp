// The catalogue declares every metric that headgauge writes, once: its name, dims and unit, what it
// means and where it comes from. The declarations are data, in the folder catalogue/ of the
// sources, from which the program, the report page, the docs and the tests read them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headgauge {

// How a metric comes to be.
enum class MetricKind {
  row_mean,     // mean over rows: dims layer, head, length, then `dims`
  row_longest,  // mean over rows at the longest length only: dims layer, head, then `dims`
  hidden,       // as row_mean, but kept for derive() and never written out
  passed_on,    // as hidden, but in the results of a pass, for what is derived over all lengths
  derived,      // filled in by derive(); `dims` are all of its dims
};

// Declares a metric: help, results, report and docs all use this. The texts from `title` to
// `source`, but `formula`, are empty for hidden metrics.
struct MetricInfo {
  std::string name = {};   // "critical_n"
  std::string title = {};  // a short name for people: "critical N"
  std::string group = {};  // weights, distance, separability, ...
  MetricKind kind = MetricKind::row_mean;
  std::vector<std::string> dims = {};  // see MetricKind; a comparison adds its own
  std::string unit = {};               // "nats", "keys", "1" ...
  std::string formula = {};            // in plain characters
  std::string tex = {};                // the formula in TeX
  std::string meaning = {};            // a sentence for a user: how to read it
  std::string source = {};             // "paper A, Thm 1.1; docs/mathematics.md T1.1"
  std::optional<double> none = {};     // the value that says that none was found, such as -1
  bool identifier = false;  // numbers something (another head): a difference means nothing
  std::vector<std::string> flags = {};  // the flags that are judged by it
  bool by_position = false;             // has a twin_by_position()
  std::string command = {};             // which command writes it: scan, compare, converge ...
  // The metric that it is a share of, or empty; undefined where that found none.
  std::string fraction_of = {};
  // The metric that it is an end of the interval of, or empty: no quantity of its own, it is
  // neither compared nor a predictor.
  std::string interval_of = {};
  // A null, a bound, or a number of a test, which says something beside another metric alone: the
  // report puts it behind "more".
  bool aside = false;
  bool bound = false;  // a bound, or what a paper prints: it follows from other metrics
  // The smallest and the largest value that it can have where the weights of a row are shares;
  // absent where it has no bounds, or others for each text. The report draws it on a linear scale.
  std::optional<std::array<double, 2>> range = {};

  // The dims in the results of its command: `dims` after those that its kind implies.
  std::vector<std::string> all_dims() const;
};

// A group of metrics that are measured together.
struct MetricGroup {
  enum class Needs { nothing, x, shares, loss, intervention };
  std::string name;
  std::string command;           // of its metrics, where they name no other
  Needs needs = Needs::nothing;  // what a source must have, or a scan be asked for
};

// An experiment of `reproduce tokens`, whose metrics are those of the catalogue as NAME_metric.
struct Experiment {
  std::string name;            // "gaussian"
  std::string title;           // "Gaussian tokens"
  bool random_tokens = false;  // no model, and so no context length
};

// Says what a group needs: "the vectors x"; empty where it needs nothing.
std::string_view in_words(MetricGroup::Needs needs);

// List all groups, and every metric of headgauge's own, hidden ones too, in the groups' order.
const std::vector<MetricGroup>& metric_groups();
const std::vector<MetricInfo>& all_metrics();
const std::vector<Experiment>& experiments();

// Names the groups that a scan can measure.
const std::vector<std::string>& measure_groups();

// Finds the declaration of a metric; null for a name that is not declared, such as that of one of a
// user's own. metric_info() throws std::logic_error instead.
const MetricInfo* find_metric_info(std::string_view name);
const MetricInfo& metric_info(std::string_view name);

// Finds the experiment that a metric is of, by its name ("gaussian_error_mean"); null for others.
const Experiment* find_experiment(std::string_view metric);

// Names the twin of a metric that is kept by position too.
std::string twin_by_position(std::string_view metric);

// Finds the metric that a flag is judged by; null for an unknown flag.
const MetricInfo* metric_of_flag(std::string_view flag);

}  // namespace headgauge
