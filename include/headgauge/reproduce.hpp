// Reproduces the figures and claims of the two papers for a given model (docs/reproduce.md):
// "limits" is arXiv 2508.17821 (paper A), "tokens" is arXiv 2512.10656 (paper B).
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

// Consecutive pieces of a text, each a separate document.
struct TextPieces {
  std::size_t count = 0;
  std::function<std::unique_ptr<HeadSource>(std::size_t piece)> open = {};
};
// Cuts a text into pieces of `tokens` tokens and drops the rest.
using CutText = std::function<TextPieces(int tokens)>;

inline constexpr int kPaperLength = 1024;  // the longest context of paper A

struct LimitsOptions {
  std::vector<int> lengths;  // empty: 32, 64 ... kPaperLength, as far as model and text allow
  XSource x = XSource::embedding;
  int threads = 0;
  std::uint64_t seed = 0;
  // The whole text, for the claims on early warnings; empty: they are not tested.
  CutText cut;
  // Opens the cases of tasks together with their controls, and each case alone; empty: the claims
  // on answers are not tested.
  std::function<std::shared_ptr<HeadSource>()> answers = {};
  TextPieces cases = {};
};

std::vector<Option> options_of(LimitsOptions& options);

// Runs one scan of all groups with paper A's settings. Also measures entropy, separability and loss
// of up to 64 pieces of the text, over the coordinate `piece`, and those of every case, over the
// coordinate `answered_case`, and the heads at other temperatures; and tests the claims. If
// interrupted, returns the finished layers, marked partial; claims are tested only if all layers
// and pieces finished. Throws what scan() throws.
Results reproduce_limits(HeadSource& source, const LimitsOptions& options,
                         Progress* progress = nullptr, std::stop_token stop = {});

// Tests the claims on earlier results of scan() or reproduce_limits(): the same figures give the
// same verdicts. A claim whose metrics are missing says what to scan. Throws BadInputError, which
// calls the results `name`, if they come from another command or are partial.
Results judge_limits(Results scanned, const std::string& name = "the results");

struct TokensOptions {
  // Quick settings, or the paper's if `full` is set. An empty grid or 0 means the default of each
  // experiment; `replicates` applies to all experiments.
  bool full = false;
  int dimension = 50;
  std::vector<int> grid;
  int replicates = 0;
  // Radii of the balls of queries of the Gaussian tokens; the rate is judged up to 1.
  std::vector<double> radii = {0.25, 0.5, 0.75, 1, 1.5, 2};
  int threads = 0;
  std::uint64_t seed = 0;

  // Opens the model with its text; empty: no model is measured.
  std::function<std::shared_ptr<HeadSource>()> model;
  int length = 0;  // its context length; 0: the paper's 512, or less if model or text are shorter

  // The folder that keeps gaussian/, sphere/, model/, all_heads/ and each_head/, each with its
  // results.json. An experiment that is there with the same settings is reused. Empty: nothing is
  // saved.
  std::string folder;
  JournalRef journal = no_journal();  // stores and finds finished parts of the experiments
};

std::vector<Option> options_of(TokensOptions& options);

// Runs paper B's experiments and tests its claims. The metrics of the experiments are
// gaussian_NAME, sphere_NAME and model_NAME, with coordinates named likewise (the model's layer and
// head keep their names). For a model with a loss, all_heads_NAME and each_head_NAME hold what
// compare() measures when its heads attend to random keys. If interrupted, returns what finished,
// marked partial and without claims. Throws what simulate(), converge() and compare() throw.
Results reproduce_tokens(const TokensOptions& options, Progress* progress = nullptr,
                         std::stop_token stop = {});

}  // namespace headgauge
