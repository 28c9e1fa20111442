#include "headgauge/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "experiments/prediction_output.hpp"
#include "experiments/predictors.hpp"
#include "experiments/resolved_comparison.hpp"
#include "experiments/retrieval_heads.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/flags.hpp"
#include "headgauge/journal.hpp"
#include "headgauge/metric_names.hpp"
#include "results/declared.hpp"
#include "results/mean_of.hpp"
#include "results/outcomes.hpp"
#include "scan/output.hpp"
#include "statistics/false_discoveries.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

// Adds the documents of a text, and their sinks.
void append(const TextRecord& text, TextRecord& all) {
  const auto add = [](const auto& from, auto& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  add(text.names, all.names);
  add(text.sha256, all.sha256);
  add(text.tokens, all.tokens);
  add(text.tokens_total, all.tokens_total);
  add(text.first, all.first);
  if (!text.sinks || text.sinks->empty()) return;
  if (!all.sinks) all.sinks.emplace();
  add(*text.sinks, *all.sinks);
}

// Combines the work on all texts and groups of cases into one progress.
class PartProgress final : public Progress {
 public:
  PartProgress(Progress* whole, std::size_t parts) : whole_(whole), parts_(parts) {}
  void name(std::size_t part, std::string name) {
    part_ = part;
    name_ = std::move(name);
  }
  // Begins the work on `share` of the part, after that on `from` of it.
  void begin(double from, double share) {
    from_ = static_cast<double>(part_) + from;
    share_ = share;
  }
  void update(std::string_view what, double done, double total) override {
    if (whole_ == nullptr) return;
    const double part = total > 0 ? done / total : 1;
    whole_->update(fmt::format("{}: {}", name_, what), from_ + share_ * part,
                   static_cast<double>(parts_));
  }

 private:
  Progress* whole_;
  std::size_t parts_, part_ = 0;
  std::string name_;
  double from_ = 0, share_ = 0;
};

// Returns the mean of each column; infinite if a value is.
std::vector<double> mean_of_rows(const HeadTable& table) {
  std::vector<double> mean(table.front().size());
  for (const std::vector<double>& row : table) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += row[i] / static_cast<double>(table.size());
    }
  }
  return mean;
}

// The measurements on one text or one group of cases.
struct OfPart {
  std::vector<Predictor> predictors = {};           // empty for cases beside texts
  std::vector<std::vector<Estimate>> changes = {};  // of the loss, by intervention, then head
  HeadTable losing = {};  // by intervention: the share of each head's queries that lose keys
};

class Validation {
 public:
  Validation(const ValidateInput& input, const ValidateOptions& options, Progress* progress)
      : input_(input),
        options_(options),
        progress_(progress, input.texts.size() + input.groups.size()) {}

  Results run(const std::stop_token& stop) {
    Journal& journal = options_.scan.journal;
    const Journal::Stage stage(journal, "validate");
    const std::size_t texts = input_.texts.size(), all = texts + input_.groups.size();
    const std::vector<double> alike(all, 1.0);
    const Journal::Deal deal(journal, options_.costs.empty() ? alike : options_.costs);
    for (std::size_t part = 0; part < all && !stop.stop_requested(); ++part) {
      if (!journal.has_all() && !journal.computes(static_cast<Index>(part))) continue;
      const bool is_text = part < texts;
      const std::size_t number = is_text ? part : part - texts;
      const Journal::Stage of_part(journal,
                                   fmt::format("{} {}", is_text ? "text" : "cases", number));
      const Journal::Deal to_one(journal, static_cast<Index>(part));
      const auto source = is_text ? input_.open(number) : input_.open_group(number);
      progress_.name(part, is_text ? input_.texts[number] : input_.groups[number]);
      measure(*source, is_text, stop);
    }
    if (!journal.has_all()) {
      results_.partial = stop.stop_requested();
      return std::move(results_);
    }
    results_.partial = of_texts_.size() + of_groups_.size() < all;
    // What is found on some groups is checked on the others.
    if (of_groups_.size() < input_.groups.size()) of_groups_.clear();
    if (!measured().empty()) write();
    return std::move(results_);
  }

 private:
  std::vector<Intervention> interventions(const SourceInfo& source) const {
    CompareOptions patterns{.scan = options_.scan, .patterns = options_.patterns};
    CompareOptions normalizers{.scan = options_.scan, .normalizers = options_.normalizers};
    std::vector<Intervention> all;
    if (!options_.patterns.empty()) all = make_interventions(patterns, source);
    if (!options_.normalizers.empty()) {
      std::ranges::move(make_interventions(normalizers, source), std::back_inserter(all));
    }
    return all;
  }

  // Heads are measured on the texts, and on the cases if there is no text.
  bool measures_heads(bool is_text) const { return is_text || input_.texts.empty(); }

  void measure(HeadSource& source, bool is_text, const std::stop_token& stop) {
    if (!source.info().has_loss) {
      throw UnsupportedError(fault("validate", "a model with a loss",
                                   source.info().name + ", which has none",
                                   "give a causal model and its head"));
    }
    ScanOptions scan = options_.scan;
    if (!measures_heads(is_text)) scan.lengths.clear();  // those of the texts
    left_out_ = without_attention_notice(source.info());
    const std::vector<Intervention> all = interventions(source.info());
    CompareOptions one_by_one{.scan = scan, .patterns = options_.patterns};
    one_by_one.each = Each::head;
    one_by_one.scan.measures = {"model"};
    one_by_one.scan.lengths = {
        resolve_comparison(one_by_one, all, source.info()).options.lengths.back()};
    Results metrics;
    if (measures_heads(is_text)) {
      ConvergeOptions converge_options;
      converge_options.scan = scan;
      if (converge_options.scan.measures.empty()) converge_options.scan.measures = measure_groups();
      progress_.begin(0, 0.3);
      metrics = converge(source, converge_options, &progress_, stop);
      if (metrics.partial || stop.stop_requested()) return;
      if (options_.scan.journal.get().has_all()) metrics.flags = find_flags(metrics);
    }
    const double before = measures_heads(is_text) ? 0.3 : 0;
    progress_.begin(before, 1 - before);
    const Results changed = compare(source, one_by_one, all, &progress_, stop);
    if (changed.partial || stop.stop_requested() || !options_.scan.journal.get().has_all()) return;
    take(std::move(metrics), changed, all, is_text);
  }

  void take(Results metrics, const Results& changed, const std::vector<Intervention>& all,
            bool is_text) {
    if (labels_.empty()) {
      heads_ = measured_heads(metrics);
      for (const Intervention& intervention : all) labels_.push_back(intervention.label);
    }
    OfPart found;
    if (measures_heads(is_text)) found.predictors = predictors_of(metrics, heads_);
    const std::string dim = intervention_dimension(changed);
    for (const std::string& label : labels_) {
      const auto place = changed.require_coord(dim).find(label);
      std::vector<Estimate>& changes = found.changes.emplace_back();
      Predictor output{"output_change under " + label, {}};
      std::vector<double>& losing = found.losing.emplace_back();
      for (const HeadName& head : heads_) {
        // A comparison has all heads, also if only some are chosen.
        const auto layer = changed.require_coord("layer").find(head.layer);
        const auto number = changed.require_coord("head").find(head.head);
        const auto cell = [&](const char* metric) -> std::optional<MetricCell> {
          if (!place || !layer || !number) return std::nullopt;
          return find_cell(changed, metric,
                           {{"layer", *layer}, {"head", *number}, {dim, *place}, {kOutcome, 0}});
        };
        const auto loss = cell(metric::loss_change);
        const auto moved = cell(metric::output_change);
        const auto share = cell(metric::queries_losing_keys);
        losing.push_back(share ? share->value : kUndefined);
        changes.push_back(loss ? static_cast<const Estimate&>(*loss) : Estimate{});
        output.values.push_back(moved ? moved->value : kUndefined);
      }
      if (measures_heads(is_text)) found.predictors.push_back(std::move(output));
    }
    (is_text ? of_texts_ : of_groups_).push_back(std::move(found));
    if (!measures_heads(is_text)) return;
    append(metrics.text, text_);
    last_ = std::move(metrics);
  }

  // The parts that the heads were measured on.
  const std::vector<OfPart>& measured() const { return of_texts_.empty() ? of_groups_ : of_texts_; }

  void write() {
    results_.command = Command::validate;
    results_.tool = last_.tool;
    results_.model = last_.model;
    results_.text = text_;
    results_.settings = last_.settings;
    write_settings(options_of(options_), results_.settings);
    results_.layers_done = last_.layers_done;
    for (const char* coord : {"layer", "head", "length"}) {
      results_.set_coord(coord, last_.require_coord(coord).labels());
    }
    results_.set_coord("intervention", labels_);
    const auto set_parts = [&](const char* coord, const auto& names, std::size_t count) {
      if (count == 0) return;
      results_.set_coord(coord, std::vector<std::string>(
                                    names.begin(), names.begin() + static_cast<Index>(count)));
    };
    set_parts("text", input_.texts, of_texts_.size());
    set_parts("cases", input_.groups, of_groups_.size());
    std::vector<std::string> names;
    for (const Predictor& predictor : measured().front().predictors) {
      names.push_back(predictor.name);
    }
    results_.set_coord("predictor", names);
    if (!of_texts_.empty()) add_outcomes({kText}, results_);
    if (!of_groups_.empty()) add_outcomes({kAnswers}, results_);
    write_predictor_values();
    if (!options_.patterns.empty()) write_losing();
    if (!of_texts_.empty()) write_texts();
    if (!of_groups_.empty()) write_answers();
    if (!left_out_.empty()) results_.notices.push_back(left_out_);
    if (of_texts_.size() == 1) {
      results_.notices.push_back(
          "there is one text: metrics and losses come from the same text, so nothing is shown "
          "about another");
    }
  }

  void write_texts() {
    write_changes(of_texts_, metric::validated_loss_change);
    write_shown();
    PredictionTables tables;
    for (Index p = 0; p < results_.coord_size("predictor"); ++p) {
      tables.predictors.push_back(predictor(p));
    }
    tables.changes = outcomes(of_texts_);
    write_predictions(tables, kText, prediction_options(), options_.level, options_.scan.threads,
                      results_);
  }

  void write_answers() {
    write_changes(of_groups_, metric::validated_answer_change);
    std::vector<AnswerChanges> changes(labels_.size());
    for (const OfPart& group : of_groups_) {
      for (std::size_t k = 0; k < labels_.size(); ++k) changes[k].push_back(group.changes[k]);
    }
    write_retrieval_heads(changes, heads_, options_.level, results_);
    PredictionTables tables;
    for (Index p = 0; p < results_.coord_size("predictor"); ++p) {
      HeadTable of_parts = predictor(p);
      // Texts and cases do not go in pairs: each group gets the mean over the texts.
      if (!of_texts_.empty()) of_parts.assign(of_groups_.size(), mean_of_rows(of_parts));
      tables.predictors.push_back(std::move(of_parts));
    }
    tables.changes = outcomes(of_groups_);
    write_predictions(tables, kAnswers, prediction_options(), options_.level, options_.scan.threads,
                      results_);
  }

  PredictionOptions prediction_options() const {
    PredictionOptions plan{options_.permutations, options_.resamples, options_.scan.seed};
    for (const HeadName& head : heads_) plan.layers.push_back(head.layer_index);
    return plan;
  }

  void write_changes(const std::vector<OfPart>& parts, const char* name) {
    LabelledArray& change = add_declared(results_, name).with_standard_errors();
    Index undefined = 0;
    for (Index t = 0; t < std::ssize(parts); ++t) {
      for (Index h = 0; h < std::ssize(heads_); ++h) {
        for (Index k = 0; k < std::ssize(labels_); ++k) {
          change.set({heads_[h].layer_index, heads_[h].head_index, k, t}, parts[t].changes[k][h]);
          undefined += std::isfinite(parts[t].changes[k][h].value) ? 0 : 1;
        }
      }
    }
    if (undefined == 0) return;
    results_.notices.push_back(fmt::format("{}: {} of {} changes are undefined, {}", name,
                                           undefined, change.size(), kNotFinite));
  }

  void write_predictor_values() {
    const char* const part = of_texts_.empty() ? "cases" : "text";
    LabelledArray& value =
        add_declared(results_, metric::predictor_value, {"layer", "head", "predictor", part});
    for (Index t = 0; t < std::ssize(measured()); ++t) {
      for (Index h = 0; h < std::ssize(heads_); ++h) {
        for (Index p = 0; p < results_.coord_size("predictor"); ++p) {
          const double of_head = measured()[t].predictors[p].values[h];
          value({heads_[h].layer_index, heads_[h].head_index, p, t}) =
              std::isinf(of_head) ? kUndefined : of_head;
        }
      }
    }
  }

  void write_losing() {
    LabelledArray& losing =
        add_declared(results_, metric::queries_losing_keys, {"layer", "head", "intervention"});
    for (Index k = 0; k < std::ssize(labels_); ++k) {
      HeadTable of_parts;
      for (const OfPart& part : measured()) of_parts.push_back(part.losing[k]);
      const std::vector<double> mean = mean_of_rows(of_parts);
      for (Index h = 0; h < std::ssize(heads_); ++h) {
        losing({heads_[h].layer_index, heads_[h].head_index, k}) = mean[h];
      }
    }
  }

  // Writes the number of cases (a head on a text) in which the loss is shown to rise or to fall:
  // Student's t, with the false discovery rate `level` over the cases of the intervention
  // (Benjamini and Hochberg).
  void write_shown() {
    LabelledArray& rises = add_declared(results_, metric::loss_rises);
    LabelledArray& falls = add_declared(results_, metric::loss_falls);
    for (Index k = 0; k < std::ssize(labels_); ++k) {
      std::vector<double> changes, p;
      for (const OfPart& text : of_texts_) {
        for (const Estimate& change : text.changes[k]) {
          changes.push_back(change.value);
          p.push_back(t_test(mean_of(change)).p);
        }
      }
      p = adjusted_p_values(p);
      int up = 0, down = 0;
      for (std::size_t i = 0; i < p.size(); ++i) {
        if (!(p[i] <= options_.level)) continue;
        ++(changes[i] > 0 ? up : down);
      }
      rises({k}) = up;
      falls({k}) = down;
    }
  }

  // Returns the table of each intervention.
  std::vector<HeadTable> outcomes(const std::vector<OfPart>& parts) const {
    std::vector<HeadTable> tables(labels_.size());
    for (const OfPart& part : parts) {
      for (std::size_t k = 0; k < labels_.size(); ++k) {
        auto& row = tables[k].emplace_back();
        for (const Estimate& change : part.changes[k]) row.push_back(change.value);
      }
    }
    return tables;
  }

  HeadTable predictor(Index place) const {
    HeadTable table;
    for (const OfPart& part : measured()) table.push_back(part.predictors[place].values);
    return table;
  }

  ValidateInput input_;
  ValidateOptions options_;
  PartProgress progress_;
  std::vector<HeadName> heads_;
  std::vector<std::string> labels_;
  std::vector<OfPart> of_texts_, of_groups_;
  TextRecord text_;       // of all texts, or of the cases if there is none
  Results last_;          // results of the last part that the heads were measured on
  std::string left_out_;  // notice about layers without attention
  Results results_;
};

}  // namespace

Results validate(const ValidateInput& input, const ValidateOptions& options, Progress* progress,
                 std::stop_token stop) {
  if (input.texts.empty() && input.groups.empty()) {
    throw UsageError(fault("validate", "texts", "none", "name at least two"));
  }
  if (input.groups.size() == 1) {
    throw UsageError(
        fault("validate", "no group of cases, or two of them", "one", "divide its cases"));
  }
  ValidateOptions chosen = options;
  for (auto* names : {&chosen.patterns, &chosen.normalizers}) std::erase(*names, "none");
  if (chosen.patterns.empty() && chosen.normalizers.empty()) {
    throw UsageError(
        fault("ValidateOptions::patterns", "patterns or normalizers to try", "none", "name one"));
  }
  return Validation(input, chosen, progress).run(stop);
}

}  // namespace headgauge
