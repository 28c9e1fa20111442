#include "headgauge/diff.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "results/diff_notices.hpp"
#include "results/head_labels.hpp"
#include "results/longest.hpp"
#include "results/overlap.hpp"
#include "results/run_pairs.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kRun = "run";

// What describes another coordinate's labels, one by one, and is no dim of a metric.
constexpr std::array<std::pair<const char*, const char*>, 3> kDescribing = {
    {{"kv_head", "head"}, {"layer_type", "layer"}, {"window", "layer"}}};

// What a flag is judged by: where that was not compared, its absence says nothing.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kJudgedBy = {
    {{"dispersed", "entropy_normalized"},
     {"collapsed", "entropy_normalized"},
     {"sink", "sink_weight"},
     {"saturated", "separability"},
     {"over_selected", "mass_90"},
     {"sensitive", "sensitivity_top2"},
     {"redundant", "top_overlap"},
     {"slow", "rate_predicted"},
     {"recommended", "loss"}}};

bool by_position(const std::string& name) {
  return name.ends_with("_by_position");
}

// The number of another head, or the like: no quantity.
bool is_number_of(const std::string& name) {
  return name.ends_with("_partner");
}

bool of_heads(const MetricArray& metric) {
  return metric.dims.size() >= 2 && metric.dims[0] == "layer" && metric.dims[1] == "head";
}

// What is null where no critical N is found, of which the critical N tells.
bool tells_of_critical(const std::string& name) {
  return name.starts_with("critical_fraction");
}

class Difference {
 public:
  Difference(const Results& before, const Results& after, const DiffOptions& options)
      : before_(before), after_(after), options_(options), left_out_(before, after, options) {}

  Results run() {
    check_input(before_, options_.old_file);
    check_input(after_, options_.new_file);
    choose_metrics();
    if (chosen_.empty()) left_out_.fail_without_overlap();
    describe();
    write_coords();
    for (const std::string& name : chosen_) write_metric(name);
    write_flags();
    results_.notices = left_out_.sentences(results_);
    return std::move(results_);
  }

 private:
  static void check_input(const Results& results, const std::string& file) {
    if (results.coord(kRun) != nullptr) {
      throw BadInputError(fault(file, "the results of one run", "those of a diff",
                                "give the two files that it was made from"));
    }
    for (const char* name : {"layer", "head", "length"}) {
      const Coordinate* coord = results.coord(name);
      if (coord != nullptr && std::holds_alternative<std::vector<std::string>>(*coord)) {
        throw BadInputError(fault(file + ": coords: " + name, "numbers", "names",
                                  "give a results.json written by headgauge"));
      }
    }
  }

  const std::vector<SharedLabel>& shared(const std::string& name) {
    const auto [it, made] = shared_.try_emplace(name);
    const Coordinate* before = before_.coord(name);
    const Coordinate* after = after_.coord(name);
    if (made && before != nullptr && after != nullptr) {
      it->second = shared_labels(name, *before, *after);
    }
    return it->second;
  }

  bool asked_for(const std::string& name) const {
    return std::ranges::find(options_.metrics, name) != options_.metrics.end();
  }

  // Of the longest length alone. Random tokens, whose metrics `reproduce tokens` keeps beside those
  // of a model, have no length.
  static bool of_longest(const MetricArray& metric) {
    return !has_dim(metric, "length") && !has_dim(metric, "position") &&
           std::ranges::none_of(metric.dims, [](const std::string& dim) {
             return dim.starts_with("gaussian_") || dim.starts_with("sphere_");
           });
  }

  void choose_metrics() {
    for (const std::string& name : options_.metrics) {
      if (before_.metric(name) == nullptr || after_.metric(name) == nullptr) {
        throw UsageError(fault("DiffOptions::metrics", "metrics of both files", "\"" + name + "\"",
                               "they share " + shared_names(before_, after_)));
      }
      if (!options_.heads.empty() && !of_heads(*after_.metric(name))) {
        throw UsageError(fault("DiffOptions::heads", "metrics of single heads", "\"" + name + "\"",
                               "leave out one of the two"));
      }
    }
    const bool same_longest = longest_length(before_) == longest_length(after_);
    for (const auto& [name, metric] : after_.metrics) {
      const MetricArray* old = before_.metric(name);
      if (!options_.metrics.empty() && !asked_for(name)) continue;
      if (!options_.heads.empty() && !of_heads(metric)) continue;
      if (old == nullptr) {
        left_out_.new_only.push_back(name);
      } else if (old->dims != metric.dims || old->unit != metric.unit) {
        left_out_.different.push_back(name);
      } else if (follows(name)) {
        left_out_.following.push_back(name);
      } else if (metric.unit == "seconds" && !asked_for(name)) {
        left_out_.times.push_back(name);
      } else if (!same_longest && of_longest(metric)) {
        left_out_.of_longest.push_back(name);
      } else if (std::ranges::any_of(metric.dims,
                                     [&](const auto& d) { return shared(d).empty(); })) {
        left_out_.disjoint.push_back(name);
      } else {
        chosen_.push_back(name);
      }
    }
    if (!options_.metrics.empty() || !options_.heads.empty()) return;
    for (const auto& [name, metric] : before_.metrics) {
      if (after_.metric(name) == nullptr) left_out_.old_only.push_back(name);
    }
  }

  // The change of NAME that compare writes, where NAME itself is compared: it follows from that.
  bool follows(const std::string& name) const {
    constexpr std::string_view kEnd = "_change";
    if (!name.ends_with(kEnd)) return false;
    const std::string of = name.substr(0, name.size() - kEnd.size());
    return before_.metric(of) != nullptr && after_.metric(of) != nullptr &&
           (options_.metrics.empty() || asked_for(of));
  }

  Json described(const Results& results, const std::string& file, const Results& other) const {
    const auto text_of = [](const Json& object, const char* key) {
      const auto it = object.find(key);
      return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
    };
    Json json;
    json["file"] = file;
    json["command"] = text_of(results.settings, "command");
    json["model"] = text_of(results.model, "name");
    const auto names = results.text.find("names");
    json["text"] = names != results.text.end() && names->is_array() ? *names : Json::array();
    json["settings"] = different_settings(results, other);
    return json;
  }

  void describe() {
    results_.tool = after_.tool;
    results_.model = after_.model;
    results_.text = after_.text;
    results_.settings["command"] = "diff";
    results_.settings["old"] = described(before_, options_.old_file, after_);
    results_.settings["new"] = described(after_, options_.new_file, before_);
    results_.settings["metrics"] = options_.metrics;
    results_.settings["heads"] = options_.heads.empty() ? "all" : options_.heads;
    results_.partial = before_.partial || after_.partial;
    results_.layers_done = static_cast<int>(shared("layer").size());
  }

  void write_coords() {
    std::set<std::string> used;
    for (const std::string& name : chosen_) {
      const MetricArray& metric = *after_.metric(name);
      used.insert(metric.dims.begin(), metric.dims.end());
    }
    for (const auto& [name, labels] : after_.coords) {
      std::string of = name;
      for (const auto& [describing, described] : kDescribing) {
        if (name == describing) of = described;
      }
      if (!used.contains(of)) continue;
      std::vector<Index> places;
      for (const SharedLabel& label : shared(of)) places.push_back(label.after);
      if (of == name) left_out_.compare_labels(name, shared(name));
      // A describing list is as long as what it describes, or nothing.
      if (of != name && after_.coord_size(name) != after_.coord_size(of)) continue;
      results_.set_coord(name, labels_at(labels, places));
    }
    results_.set_coord(kRun, std::vector<std::string>{"old", "new"});
    if (!options_.heads.empty()) selection_ = select_heads(results_, options_.heads);
  }

  // One cell of an input; `of` chooses the place in the old or in the new coordinate.
  std::size_t flat(const Results& from, const MetricArray& metric, const std::vector<Index>& cell,
                   Index SharedLabel::*of) {
    Index at = 0;
    for (std::size_t k = 0; k < cell.size(); ++k) {
      const auto& labels = *places_[k];
      at = at * from.coord_size(metric.dims[k]) + labels[static_cast<std::size_t>(cell[k])].*of;
    }
    return static_cast<std::size_t>(at);
  }

  void write_metric(const std::string& name) {
    const MetricArray& old_metric = *before_.metric(name);
    const MetricArray& new_metric = *after_.metric(name);
    std::vector<std::string> dims = new_metric.dims;
    const auto other = [](const std::string& dim) { return dim != "layer" && dim != "head"; };
    const auto place = std::ranges::find_if(dims, other) - dims.begin();
    dims.insert(dims.begin() + place, kRun);
    MetricArray& both = results_.add_metric(name, dims, new_metric.unit);
    MetricArray* twin = nullptr;
    if (!is_number_of(name) && (!by_position(name) || asked_for(name))) {
      twin = &results_.add_metric(name + "_change", new_metric.dims, new_metric.unit);
    }
    const bool errors = !old_metric.standard_error.empty() && !new_metric.standard_error.empty();
    const bool rows = !old_metric.rows.empty() && !new_metric.rows.empty();
    if (!old_metric.standard_error.empty() || !new_metric.standard_error.empty()) {
      both.standard_error.assign(both.values.size(), kUndefined);
    }
    if (errors && twin != nullptr) twin->standard_error.assign(twin->values.size(), kUndefined);
    if (rows) both.rows.assign(both.values.size(), 0);

    std::vector<Index> sizes;
    places_.clear();
    for (const std::string& dim : new_metric.dims) {
      places_.push_back(&shared(dim));
      sizes.push_back(static_cast<Index>(places_.back()->size()));
    }
    std::size_t inner = 1;
    for (auto k = static_cast<std::size_t>(place); k < sizes.size(); ++k) {
      inner *= static_cast<std::size_t>(sizes[k]);
    }
    const bool lacking = may_lack(name);
    std::size_t at = 0;
    each_cell(sizes, [&](const std::vector<Index>& cell) {
      const std::size_t here = at++;
      if (of_heads(new_metric) && !selected(cell)) return;
      const std::size_t from = flat(before_, old_metric, cell, &SharedLabel::before);
      const std::size_t to = flat(after_, new_metric, cell, &SharedLabel::after);
      const std::size_t first = here / inner * 2 * inner + here % inner;
      const std::size_t second = first + inner;
      const double a = both.values[first] = old_metric.values[from];
      const double b = both.values[second] = new_metric.values[to];
      if (!old_metric.standard_error.empty())
        both.standard_error[first] = old_metric.standard_error[from];
      if (!new_metric.standard_error.empty())
        both.standard_error[second] = new_metric.standard_error[to];
      if (rows) {
        both.rows[first] = old_metric.rows[from];
        both.rows[second] = new_metric.rows[to];
      }
      if (twin == nullptr) return;
      if (std::isnan(a) != std::isnan(b) && !tells_of_critical(name)) {
        ++(std::isnan(a) ? left_out_.undefined_old : left_out_.undefined_new)[name];
      } else if (lacking && (a < 0) != (b < 0)) {
        ++(a < 0 ? left_out_.found : left_out_.lost)[name];
      }
      if (lacking && (a < 0 || b < 0)) return;
      twin->values[here] = b - a;
      if (errors)
        twin->standard_error[here] =
            std::hypot(old_metric.standard_error[from], new_metric.standard_error[to]);
    });
  }

  bool selected(const std::vector<Index>& cell) const {
    if (options_.heads.empty()) return true;
    return selection_.contains(head_label(results_, "layer", cell[0]),
                               head_label(results_, "head", cell[1]));
  }

  // Flags are of the longest length, and of heads that both have.
  void write_flags() {
    if (longest_length(before_) != longest_length(after_)) {
      left_out_.flags = !before_.flags.empty() || !after_.flags.empty();
      return;
    }
    const auto add = [&](const Results& from, const Results& other, const char* change) {
      for (const Flag& flag : from.flags) {
        const auto same = [&](const Flag& f) {
          return f.name == flag.name && f.layer == flag.layer && f.head == flag.head;
        };
        if (std::ranges::any_of(other.flags, same) || !judged(flag)) continue;
        results_.flags.push_back(flag);
        results_.flags.back().change = change;
      }
    };
    add(after_, before_, "gained");
    add(before_, after_, "lost");
    std::ranges::stable_sort(results_.flags, {},
                             [](const Flag& flag) { return std::pair(flag.layer, flag.head); });
  }

  // Whether both runs measured what the flag is judged by, in its head.
  bool judged(const Flag& flag) const {
    const auto layer = find_label(results_, "layer", flag.layer);
    const auto head = find_label(results_, "head", flag.head);
    if (!layer || !head || !selected({*layer, *head})) return false;
    const auto known =
        std::ranges::find(kJudgedBy, flag.name, &decltype(kJudgedBy)::value_type::first);
    if (known == kJudgedBy.end()) return false;
    const MetricArray* metric = results_.metric(known->second);
    if (metric == nullptr || !of_heads(*metric)) return false;
    const std::size_t heads = static_cast<std::size_t>(results_.coord_size("head"));
    const std::size_t of_layers =
        metric->values.size() / static_cast<std::size_t>(results_.coord_size("layer"));
    const std::size_t size = of_layers / heads / 2;
    const auto begin = metric->values.begin() +
                       static_cast<std::ptrdiff_t>((static_cast<std::size_t>(*layer) * heads +
                                                    static_cast<std::size_t>(*head)) *
                                                   2 * size);
    const auto defined = [](double value) { return !std::isnan(value); };
    const auto middle = begin + static_cast<std::ptrdiff_t>(size);
    return std::any_of(begin, middle, defined) &&
           std::any_of(middle, middle + static_cast<std::ptrdiff_t>(size), defined);
  }

  const Results& before_;
  const Results& after_;
  const DiffOptions& options_;
  LeftOut left_out_;
  Results results_;
  std::vector<std::string> chosen_;
  std::map<std::string, std::vector<SharedLabel>> shared_;
  std::vector<const std::vector<SharedLabel>*> places_;  // along the dims of a metric
  HeadSelection selection_;
};

}  // namespace

Results diff(const Results& before, const Results& after, const DiffOptions& options) {
  return Difference(before, after, options).run();
}

}  // namespace headgauge
