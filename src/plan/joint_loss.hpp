// The loss of a model under a plan, all heads at once.
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "headgauge/model.hpp"
#include "plan/evaluations.hpp"

namespace headgauge {

// Thrown where a stop was requested, between two layers.
struct Stopped {};

// Mean losses by document, or their changes.
using ByDocument = std::vector<double>;
double mean(const ByDocument& values);

class JointLoss {
 public:
  // `set` names the documents in `known`. UnsupportedError for a source without a loss.
  JointLoss(HeadSource& source, std::string set, Evaluations& known, std::stop_token stop);

  const SourceInfo& source() const { return model_.info(); }
  // The model as it is.
  const ByDocument& original() const { return original_; }
  // The loss under a plan, less that of the model as it is.
  ByDocument change(const PerHead<HeadPlan>& plan);
  // The same for plans that each differ from `base` in heads of one layer: what is below that layer
  // is computed once for all.
  std::vector<ByDocument> changes_near(const PerHead<HeadPlan>& base,
                                       std::span<const PerHead<HeadPlan>> variants);
  // Plans whose losses were computed, not found.
  int computed() const { return computed_; }

 private:
  int documents() const { return static_cast<int>(source().documents.size()); }
  ByDocument loss(const PerHead<HeadPlan>& plan);
  ByDocument less_original(ByDocument losses) const;
  void run_layer(int layer, int document);
  void measured(const std::string& key, ByDocument losses);

  ModelSource& model_;
  std::string set_;
  Evaluations& known_;
  std::stop_token stop_;
  ByDocument original_;
  int computed_ = 0;
  int unsaved_ = 0;
};

}  // namespace headgauge
