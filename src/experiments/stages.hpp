// The stages of a comparison as one progress, and heads measured under an intervention.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgauge/heads.hpp"

namespace headgauge {

// Combines the stages of a comparison into one progress.
class StageProgress final : public Progress {
 public:
  StageProgress(Progress* whole, int stages) : whole_(whole), stages_(stages) {}
  void begin(int stage, std::string name) {
    stage_ = stage;
    name_ = std::move(name);
  }
  void update(std::string_view what, double done, double total) override {
    if (whole_ == nullptr) return;
    const double part = total > 0 ? done / total : 1;
    whole_->update(name_ + (what == "done" ? "" : ": " + std::string(what)), stage_ + part,
                   stages_);
  }

 private:
  Progress* whole_;
  int stages_;
  int stage_ = 0;
  std::string name_;
};

// Measures heads under an intervention while the model continues unchanged.
class HeadsUnder final : public HeadSource {
 public:
  HeadsUnder(HeadSource& source, const HeadInterventions& interventions)
      : source_(source), interventions_(interventions) {}
  const SourceInfo& info() const override { return source_.info(); }
  void describe(Results& results) const override { source_.describe(results); }
  std::span<const HeadInput> layer(int layer, int document) override {
    return under(source_.layer(layer, document));
  }
  std::span<const HeadInput> begin_layer(int layer, int document) override {
    return under(source_.begin_layer(layer, document));
  }
  void finish_layer() override { source_.finish_layer(); }
  void look_at(const QueriesOfDocument& queries) override { source_.look_at(queries); }
  void set_context(Index length) override { source_.set_context(length); }
  NextTokens next_tokens(int document) override { return source_.next_tokens(document); }
  std::vector<int> token_ids(int document) const override { return source_.token_ids(document); }

 private:
  std::span<const HeadInput> under(std::span<const HeadInput> heads) {
    heads_.assign(heads.begin(), heads.end());
    intervene_in_layer(heads_, interventions_, pool_);
    return heads_;
  }

  HeadSource& source_;
  const HeadInterventions& interventions_;
  ThreadPool pool_{1};
  std::vector<HeadInput> heads_;
};

}  // namespace headgauge
