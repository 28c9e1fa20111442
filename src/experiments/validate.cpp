#include "headgauge/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <thread>

#include "experiments/prediction.hpp"
#include "experiments/predictors.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/flags.hpp"
#include "headgauge/journal.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/parallel.hpp"
#include "results/declared.hpp"
#include "results/mean_of.hpp"
#include "scan/resolved_scan.hpp"
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

// Returns whether all values are above 0 or all are below 0.
bool one_sign(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return value > 0; }) ||
         std::ranges::all_of(values, [](double value) { return value < 0; });
}

// Combines the parts of the work on a text into one progress.
class TextProgress final : public Progress {
 public:
  TextProgress(Progress* whole, std::size_t texts) : whole_(whole), texts_(texts) {}
  void begin(std::size_t text, std::string name, double from, double share) {
    name_ = std::move(name);
    from_ = static_cast<double>(text) + from;
    share_ = share;
  }
  void update(std::string_view what, double done, double total) override {
    if (whole_ == nullptr) return;
    const double part = total > 0 ? done / total : 1;
    whole_->update(fmt::format("{}: {}", name_, what), from_ + share_ * part,
                   static_cast<double>(texts_));
  }

 private:
  Progress* whole_;
  std::size_t texts_;
  std::string name_;
  double from_ = 0, share_ = 0;
};

// The measurements on one text.
struct OfText {
  std::vector<Predictor> predictors;
  std::vector<std::vector<Estimate>> loss_change;  // by intervention, then head
};

class Validation {
 public:
  Validation(std::span<const std::string> texts, const ValidateOptions& options, Progress* progress)
      : texts_(texts), options_(options), progress_(progress, texts.size()) {}

  Results run(const OpenText& open, const std::stop_token& stop) {
    Journal& journal = options_.scan.journal;
    const Journal::Stage stage(journal, "validate");
    const std::vector<double> alike(texts_.size(), 1.0);
    const Journal::Deal deal(journal, options_.text_costs.empty() ? alike : options_.text_costs);
    for (std::size_t text = 0; text < texts_.size() && !stop.stop_requested(); ++text) {
      if (!journal.has_all() && !journal.computes(static_cast<Index>(text))) continue;
      const Journal::Stage of_text(journal, fmt::format("text {}", text));
      const Journal::Deal to_one(journal, static_cast<Index>(text));
      const auto source = open(text);
      measure(*source, text, stop);
    }
    if (!journal.has_all()) {
      results_.partial = stop.stop_requested();
      return std::move(results_);
    }
    if (of_text_.empty()) {
      results_.partial = true;
      return std::move(results_);
    }
    results_.partial = of_text_.size() < texts_.size();
    write();
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

  void measure(HeadSource& source, std::size_t text, const std::stop_token& stop) {
    if (!source.info().has_loss) {
      throw UnsupportedError(fault("validate", "a model with a loss",
                                   source.info().name + ", which has none",
                                   "give a causal model and its head"));
    }
    ConvergeOptions converge_options;
    converge_options.scan = options_.scan;
    if (converge_options.scan.measures.empty()) converge_options.scan.measures = measure_groups();
    progress_.begin(text, texts_[text], 0, 0.3);
    left_out_ = without_attention_notice(source.info());
    Results metrics = converge(source, converge_options, &progress_, stop);
    if (metrics.partial || stop.stop_requested()) return;
    if (options_.scan.journal.get().has_all()) metrics.flags = find_flags(metrics);

    const std::vector<Intervention> all = interventions(source.info());
    CompareOptions one_by_one;
    one_by_one.scan = options_.scan;
    one_by_one.each = Each::head;
    one_by_one.scan.measures = {"model"};
    one_by_one.scan.lengths = {resolve_scan(options_.scan, source.info()).options.lengths.back()};
    progress_.begin(text, texts_[text], 0.3, 0.7);
    const Results changed = compare(source, one_by_one, all, &progress_, stop);
    if (changed.partial || stop.stop_requested() || !options_.scan.journal.get().has_all()) return;
    take(std::move(metrics), changed, all);
  }

  void take(Results metrics, const Results& changed, const std::vector<Intervention>& all) {
    if (of_text_.empty()) {
      heads_ = measured_heads(metrics);
      for (const Intervention& intervention : all) labels_.push_back(intervention.label);
    }
    OfText found{predictors_of(metrics, heads_), {}};
    const std::string dim = intervention_dimension(changed);
    for (const std::string& label : labels_) {
      const auto place = changed.require_coord(dim).find(label);
      std::vector<Estimate>& changes = found.loss_change.emplace_back();
      Predictor output{"output_change under " + label, {}};
      for (const HeadName& head : heads_) {
        const auto cell = [&](const char* metric) -> std::optional<MetricCell> {
          if (!place) return std::nullopt;
          return find_cell(changed, metric,
                           {{"layer", head.layer_index}, {"head", head.head_index}, {dim, *place}});
        };
        const auto loss = cell(metric::loss_change), moved = cell(metric::output_change);
        changes.push_back(loss ? Estimate{.value = loss->value,
                                          .standard_error = loss->standard_error,
                                          .degrees_of_freedom = loss->degrees_of_freedom}
                               : Estimate{});
        output.values.push_back(moved ? moved->value : kUndefined);
      }
      found.predictors.push_back(std::move(output));
    }
    of_text_.push_back(std::move(found));
    append(metrics.text, text_);
    last_ = std::move(metrics);
  }

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
    const auto texts = std::span(texts_).first(of_text_.size());
    results_.set_coord("intervention", labels_);
    results_.set_coord("text", std::vector<std::string>(texts.begin(), texts.end()));
    std::vector<std::string> names;
    for (const Predictor& predictor : of_text_.front().predictors) names.push_back(predictor.name);
    results_.set_coord("predictor", names);
    write_measured();
    write_shown();
    write_predictions();
    if (!left_out_.empty()) results_.notices.push_back(left_out_);
    if (of_text_.size() == 1) {
      results_.notices.push_back(
          "there is one text: metrics and losses come from the same text, so nothing is shown "
          "about another");
    }
  }

  void write_measured() {
    LabelledArray& loss =
        add_declared(results_, metric::validated_loss_change).with_standard_errors();
    LabelledArray& value = add_declared(results_, metric::predictor_value);
    for (Index t = 0; t < std::ssize(of_text_); ++t) {
      for (Index h = 0; h < std::ssize(heads_); ++h) {
        const Index layer = heads_[h].layer_index, head = heads_[h].head_index;
        for (Index k = 0; k < std::ssize(labels_); ++k) {
          loss.set({layer, head, k, t}, of_text_[t].loss_change[k][h]);
        }
        for (Index p = 0; p < results_.coord_size("predictor"); ++p) {
          const double of_head = of_text_[t].predictors[p].values[h];
          value({layer, head, p, t}) = std::isinf(of_head) ? kUndefined : of_head;
        }
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
      for (const OfText& text : of_text_) {
        for (const Estimate& change : text.loss_change[k]) {
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

  HeadTable outcome(Index intervention) const {
    HeadTable table;
    for (const OfText& text : of_text_) {
      auto& row = table.emplace_back();
      for (const Estimate& change : text.loss_change[intervention]) row.push_back(change.value);
    }
    return table;
  }

  HeadTable predictor(Index place) const {
    HeadTable table;
    for (const OfText& text : of_text_) table.push_back(text.predictors[place].values);
    return table;
  }

  void write_predictions() {
    const Index predictors = results_.coord_size("predictor"), count = std::ssize(labels_);
    std::vector<Threshold> thresholds(static_cast<std::size_t>(predictors * count));
    std::vector<Prediction> found(static_cast<std::size_t>(predictors * count));
    std::vector<HeadTable> outcomes;
    for (Index k = 0; k < count; ++k) outcomes.push_back(outcome(k));
    const PredictionOptions plan{options_.permutations, options_.resamples, options_.scan.seed};
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    ThreadPool threads(std::max(1, options_.scan.threads > 0 ? options_.scan.threads : cores));
    threads.for_each(std::ssize(found), [&](Index i) {
      found[i] =
          predict(predictor(i / count), outcomes[i % count], plan, static_cast<std::uint32_t>(i));
      thresholds[i] = choose_threshold(predictor(i / count), outcomes[i % count], plan,
                                       static_cast<std::uint32_t>(i));
    });
    std::vector<double> p;
    for (const Prediction& prediction : found) p.push_back(prediction.p);
    p = adjusted_p_values(p);

    LabelledArray& correlation =
        add_declared(results_, metric::prediction_rank_correlation).with_rows();
    LabelledArray& low = add_declared(results_, metric::prediction_rank_correlation_low);
    LabelledArray& high = add_declared(results_, metric::prediction_rank_correlation_high);
    LabelledArray& adjusted = add_declared(results_, metric::prediction_rank_correlation_p);
    LabelledArray& by_text = add_declared(results_, metric::prediction_rank_correlation_by_text);
    LabelledArray& predicts = add_declared(results_, metric::predicts);
    LabelledArray& replicated = add_declared(results_, metric::loss_change_replication);
    for (Index i = 0; i < std::ssize(found); ++i) {
      const Index predictor = i / count, k = i % count;
      correlation.set({predictor, k}, {found[i].correlation, kUndefined, found[i].heads});
      low({predictor, k}) = found[i].interval.low;
      high({predictor, k}) = found[i].interval.high;
      adjusted({predictor, k}) = p[i];
      for (Index t = 0; t < std::ssize(of_text_); ++t) {
        by_text({predictor, k, t}) = found[i].by_text[t];
      }
      if (std::isnan(p[i])) continue;
      predicts({predictor, k}) = p[i] <= options_.level && one_sign(found[i].by_text);
    }
    for (Index k = 0; k < count; ++k) replicated({k}) = replication(outcomes[k]);
    write_thresholds(thresholds);
  }

  void write_thresholds(const std::vector<Threshold>& thresholds) {
    std::vector<double> p;
    for (const Threshold& threshold : thresholds) p.push_back(threshold.p);
    p = adjusted_p_values(p);
    LabelledArray& value = add_declared(results_, metric::prediction_threshold);
    LabelledArray& separation = add_declared(results_, metric::threshold_separation);
    LabelledArray& adjusted = add_declared(results_, metric::threshold_separation_p);
    const Index count = std::ssize(labels_);
    for (Index i = 0; i < std::ssize(thresholds); ++i) {
      const Index predictor = i / count, k = i % count;
      value({predictor, k}) = thresholds[i].value;
      separation({predictor, k}) = thresholds[i].separation;
      adjusted({predictor, k}) = p[i];
    }
  }

  std::span<const std::string> texts_;
  ValidateOptions options_;
  TextProgress progress_;
  std::vector<HeadName> heads_;
  std::vector<std::string> labels_;
  std::vector<OfText> of_text_;
  TextRecord text_;       // of all texts
  Results last_;          // results of the last text
  std::string left_out_;  // notice about layers without attention
  Results results_;
};

}  // namespace

std::vector<Option> options_of(ValidateOptions& o) {
  std::vector<Option> all = {
      {.member = "ValidateOptions::patterns",
       .value = &o.patterns,
       .form = "NAME[:KEY=VALUE],...",
       .group = option_group::changed,
       .help = "The patterns of keys that are tried in one head at a time (default {}); none: no "
               "pattern",
       .details = "[patterns.md](patterns.md)",
       .expects = "the name of a pattern",
       .none = "none",
       .named = "pattern"},
      {.member = "ValidateOptions::normalizers",
       .value = &o.normalizers,
       .form = "NAME[:KEY=VALUE],...",
       .group = option_group::changed,
       .help =
           "The normalizers that are tried in one head at a time (default {}); none: no normalizer",
       .details = "[normalizers.md](normalizers.md). `uniform` replaces the head's output by the "
                  "mean over the keys",
       .expects = "the name of a normalizer",
       .none = "none",
       .named = "normalizer"},
      {.member = "ValidateOptions::permutations",
       .value = &o.permutations,
       .form = "K",
       .group = option_group::drawn,
       .help = "Permutations of the heads behind a p-value (default {})",
       .least = 99},
      {.member = "ValidateOptions::resamples",
       .value = &o.resamples,
       .form = "K",
       .group = option_group::drawn,
       .help = "Resamples of the heads behind an interval (default {})",
       .least = 99},
      {.member = "ValidateOptions::level",
       .value = &o.level,
       .form = "Q",
       .group = option_group::drawn,
       .help = "Level of the false discovery rate among all correlations (default {})",
       .below = 1}};
  for (Option& option : options_of(o.scan)) {
    const std::string name = option.name();
    if (name != "normalizer" && name != "pattern" && name != "examples")
      all.push_back(std::move(option));
  }
  return all;
}

Results validate(std::span<const std::string> texts, const OpenText& open,
                 const ValidateOptions& options, Progress* progress, std::stop_token stop) {
  if (texts.empty()) throw UsageError(fault("validate", "texts", "none", "name at least two"));
  ValidateOptions chosen = options;
  for (auto* names : {&chosen.patterns, &chosen.normalizers}) std::erase(*names, "none");
  if (chosen.patterns.empty() && chosen.normalizers.empty()) {
    throw UsageError(
        fault("ValidateOptions::patterns", "patterns or normalizers to try", "none", "name one"));
  }
  return Validation(texts, chosen, progress).run(open, stop);
}

}  // namespace headgauge
