// The catalogue declares every metric that headgauge writes: its name, dims, unit, meaning and
// source. The declarations are data in the folder catalogue/ of the sources. The program, the
// report page, the docs and the tests all read them. metric_names.hpp has the names as constants.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headgauge {

// The way a metric is computed.
enum class MetricKind {
  row_mean,     // mean over rows: dims layer, head, length, then `dims`
  row_longest,  // mean over rows at the longest length only: dims layer, head, then `dims`
  hidden,       // as row_mean, but kept for derive() only and never written out
  passed_on,  // as hidden, but kept in the results of a pass; metrics derived over all lengths use
              // it
  derived,    // filled in by derive(); `dims` lists all dims of the metric
};

// A flag: a property of a head that deserves the user's attention, declared by the metric that it
// is based on, for the results, the legend of the table, the page and the docs. docs/validate.md
// says what the flags predict of the loss when a head is changed.
struct FlagInfo {
  enum class Rule {
    above,          // the metric is above the cutoff
    below,          // the metric is below the cutoff
    beyond_chance,  // the metric lies at least this share of the way from chance to 1
  };
  std::string name;
  bool role = false;  // true if it names what a head does; a head may have several
                      // (docs/roles.md)
  Rule rule = Rule::above;
  double cutoff = 0;
  std::string share_of = {};  // the rule judges the metric divided by this one; may be empty
  std::string meaning;        // when it is raised
  std::string source;
  std::string means = {};  // what it means for the user
  // A suggested command, in backticks, and what it shows; HEAD, MODEL and TEXT in it are replaced
  // by the user's.
  std::string next = {};
  std::string metric = {};  // the metric that declares it
  int place = 0;            // the flags stand in the order of their places
};

// A column of the tables of heads.
struct Column {
  std::string metric;
  std::string title;
  std::string unit;  // {} in it is the N at which separability is judged
  std::size_t width = 0;
  std::string judged_by = metric;  // flags of this metric mark the cell
  bool aside = false;              // a null, which is only useful beside another column
  int place = 0;                   // the columns stand in the order of their places
};

// Declares a metric. The help, the results, the report and the docs all use this declaration. The
// texts from `title` to `source`, except `formula`, are empty for hidden metrics.
struct MetricInfo {
  std::string name = {};   // "critical_n"
  std::string title = {};  // a short name for readers: "critical N"
  std::string group = {};  // weights, distance, separability, ...
  MetricKind kind = MetricKind::row_mean;
  std::vector<std::string> dims = {};  // see MetricKind; a comparison adds its own
  std::string unit = {};               // "nats", "keys", "1" ...
  std::string formula = {};            // in plain characters
  std::string meaning = {};            // one sentence for users: how to read the metric
  std::string source = {};             // "paper A, Thm 1.1; docs/mathematics.md T1.1"
  std::optional<double> none = {};     // the value that means "none was found", such as -1
  bool identifier = false;  // a label (the number of another head): a difference has no meaning
  // The names of the flags that are based on this metric: those of flag_infos(), and those that a
  // comparison raises.
  std::vector<std::string> flags = {};
  bool by_position = false;  // has a twin_by_position()
  std::string command = {};  // the command that writes it: scan, compare, converge ...
  // The metric that this one is a fraction of; may be empty. Undefined if that metric found none.
  std::string fraction_of = {};
  // Its names in results of schema 2 (docs/formats.md, "Names").
  std::vector<std::string> formerly = {};
  // The level and the kind of its interval, and what its p tests; empty for a metric without.
  std::string interval = {}, test = {};
  // True for a null, a bound or a test statistic, which is only useful together with another
  // metric. The report shows it under "more".
  bool aside = false;
  bool bound = false;  // a bound or a value printed in a paper: it follows from other metrics
  // The smallest and largest possible value if the weights of a row are shares (non-negative with
  // sum 1). Absent if there are no bounds or if they depend on the text. The report draws the
  // metric on a linear scale.
  std::optional<std::array<double, 2>> range = {};

  // The dims in the results of its command: those that its kind implies, then `dims`.
  std::vector<std::string> all_dims() const;
};

// A group of metrics that are measured together.
struct MetricGroup {
  enum class Needs { nothing, x, shares, loss, intervention, answers };
  std::string name;
  std::string command;           // the command of its metrics, unless they name another
  Needs needs = Needs::nothing;  // what the source must provide or the scan must be asked for
};

// An experiment of `reproduce tokens`. Its metrics are catalogue metrics under the name
// NAME_metric.
struct Experiment {
  std::string name;            // "gaussian"
  std::string title;           // "Gaussian tokens"
  bool random_tokens = false;  // uses no model and so has no context length
};

// Describes in words what a group needs, such as "the vectors x"; empty if it needs nothing.
std::string_view in_words(MetricGroup::Needs needs);

// List all groups, and all metrics of headgauge (including hidden ones) in the order of the groups.
const std::vector<MetricGroup>& metric_groups();
const std::vector<MetricInfo>& all_metrics();
const std::vector<Experiment>& experiments();

// List the flags of heads and the columns of the tables of heads.
const std::vector<FlagInfo>& flag_infos();

// Returns what words of the terminal mean, by word.
const std::map<std::string, std::string>& terms();
const std::vector<Column>& head_columns();

// Finds the declaration of a flag; std::logic_error if there is none.
const FlagInfo& flag_info(std::string_view flag);

// Lists the groups that a scan can measure.
const std::vector<std::string>& measure_groups();

// Finds the declaration of a metric. For an undeclared name, such as a user's own metric,
// find_metric_info() returns null and metric_info() throws std::logic_error.
const MetricInfo* find_metric_info(std::string_view name);
const MetricInfo& metric_info(std::string_view name);

// Returns what a metric of schema 2 is called now, "; it is now ...", or else the metric of `names`
// that is most like the name, "; did you mean ...?"; empty if there is none.
std::string metric_hint(std::string_view name, const std::vector<std::string>& names);

// Finds the experiment that a metric belongs to, by the metric's name ("gaussian_error_mean"); null
// for other metrics.
const Experiment* find_experiment(std::string_view metric);

// Returns the name of a metric in an experiment ("gaussian_error_mean"). Throws std::logic_error if
// one of the two is not declared.
std::string experiment_metric(std::string_view experiment, std::string_view metric);

// Returns the name of the metric that holds the same values by position.
std::string twin_by_position(std::string_view metric);

// Finds the metric that a flag is based on; null for an unknown flag.
const MetricInfo* metric_of_flag(std::string_view flag);

}  // namespace headgauge
