// The figures and claims of the two papers, for the model at hand (docs/reproduce.md): "limits" is
// arXiv 2508.17821 (paper A), "tokens" is arXiv 2512.10656 (paper B).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "headgauge/claims.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/results.hpp"
#include "headgauge/scan.hpp"
#include "headgauge/synthetic.hpp"

namespace headgauge {

// Consecutive pieces of a text, each a document of its own.
struct TextPieces {
  std::size_t count = 0;
  std::function<std::unique_ptr<HeadSource>(std::size_t piece)> open;
};
// Cuts a text into pieces of `tokens` tokens; what is left at its end is dropped.
using CutText = std::function<TextPieces(int tokens)>;

struct LimitsOptions {
  std::vector<int> lengths;  // empty: 32, 64 ... 1024 as far as model and text go
  XSource x = XSource::embedding;
  int threads = 0;
  std::uint64_t seed = 0;
  // The whole text for the claims on early warnings; none: they are not tested.
  CutText cut;
};

std::vector<Option> options_of(LimitsOptions& options);

// One scan with paper A's settings, all groups; entropy, separability and loss of up to 64 pieces
// of the text, over the coordinate `piece`; paper A's five algorithms timed one by one, as
// cost_seconds and cost_paper_seconds over the coordinate `algorithm`; the claims. Interrupted, the
// layers that were finished, marked partial; the claims only where all layers and pieces were.
// Throws what scan() throws.
Results reproduce_limits(HeadSource& source, const LimitsOptions& options,
                         Progress* progress = nullptr, std::stop_token stop = {});

// The claims on what scan() measured, or reproduce_limits() before: the same verdicts for the same
// figures. Of what a scan lacks the claims say what to scan with. Throws BadInputError, which calls
// them `name`, for results of another command and for partial ones.
Results judge_limits(Results scanned, const std::string& name = "the results");

struct TokensOptions {
  // Quick settings, or the paper's where `full` is set. Empty grid, 0: the default of each
  // experiment; `replicates` holds for all of them.
  bool full = false;
  int dimension = 50;
  std::vector<int> grid;
  int replicates = 0;
  int threads = 0;
  std::uint64_t seed = 0;

  // Opens the model with its text; none: no model is measured.
  std::function<std::shared_ptr<HeadSource>()> model;
  int length = 0;  // its context; 0: the paper's 512, or as far as model and text go

  // Where gaussian/, sphere/, model/, all_heads/ and each_head/ are kept, each with its
  // results.json: one that is there with the same settings is taken as it is, a simulation that was
  // stopped goes on. Empty: nothing is kept.
  std::string folder;
};

std::vector<Option> options_of(TokensOptions& options);

// Paper B's experiments, in one: the metrics of each as gaussian_NAME, sphere_NAME and model_NAME,
// their coordinates likewise (the model's layer and head as they are), and the claims. Of a model
// with a loss, what compare() gives where its heads see random keys: all_heads_NAME and
// each_head_NAME. Interrupted, what was finished, marked partial and without claims. Throws what
// simulate(), converge() and compare() throw.
Results reproduce_tokens(const TokensOptions& options, Progress* progress = nullptr,
                         std::stop_token stop = {});

}  // namespace headgauge
