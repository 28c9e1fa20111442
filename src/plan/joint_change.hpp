// Measures the effect of a plan on the whole model: on its loss or, if it has none, on its output.
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "headgauge/model.hpp"
#include "plan/evaluations.hpp"

namespace headgauge {

// Thrown between two layers if a stop was requested.
struct Stopped {};

// Means over the tokens of each document, or their changes.
using ByDocument = std::vector<double>;
double mean(const ByDocument& values);

class JointChange {
 public:
  // `set` is the name of the documents in `known`. Throws UnsupportedError if the source is not a
  // model.
  JointChange(HeadSource& source, std::string set, Evaluations& known, std::stop_token stop);

  const SourceInfo& source() const { return model_.info(); }
  Index documents() const { return std::ssize(source().documents); }
  // Returns the loss under a plan minus the model's own; for a model without a loss, the relative
  // change of the last hidden states (NextTokens::output_change).
  ByDocument change(const PerHead<HeadPlan>& plan);
  // Does the same for plans that each differ from `base` in heads of one layer; the layers below it
  // are computed only once.
  std::vector<ByDocument> changes_near(const PerHead<HeadPlan>& base,
                                       std::span<const PerHead<HeadPlan>> variants);
  // Returns the number of plans measured, not counting those found in `known`.
  int computed() const { return computed_; }

 private:
  bool by_loss() const { return source().has_loss; }
  ByDocument level(const PerHead<HeadPlan>& plan);
  double level_of(const NextTokens& next) const;
  ByDocument less_original(ByDocument levels) const;
  void set_reference();
  void run(const PerHead<HeadPlan>& plan);
  void run_layer(int layer, int document);
  void measured(const std::string& key, ByDocument levels);

  ModelSource& model_;
  std::string set_;
  Evaluations& known_;
  std::stop_token stop_;
  ByDocument original_;
  int computed_ = 0;
};

}  // namespace headgauge
