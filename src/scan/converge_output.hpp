// From what was found of each head to the metrics of converge().
#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "convergence/subsample.hpp"
#include "headgauge/bytes.hpp"
#include "headgauge/converge.hpp"

namespace headgauge {

// The tolerance at which budgets are compared and a cache is cut down, with the sampler "recent":
// what a serving engine can do without scores.
inline constexpr double kServed = 0.05;

// One kind of error of a head by number of tokens; sums over documents until divide().
struct ErrorCurve {
  std::vector<double> relative, absolute;
  // Variances over the replicates of one document, and those of the relative error.
  std::vector<double> variance, variance_absolute;
  double floor = 0;  // of the relative error: the largest of the documents
  int documents = 0;
  int relative_documents = 0;  // in which there is something to be relative to

  void add(const std::vector<Spread>& errors, double unit, double absolute_floor);
  void add(const ErrorCurve& other);
  void divide();
  void write(ByteWriter& part) const;
  void read(ByteReader& part);
};

struct HeadConvergence {
  int documents = 0;
  double horizon = 0, horizon_paper = 0;
  ErrorCurve mean, covariance;
  int budgets = 0;  // documents behind the next three
  std::vector<Index> budget_points;
  std::vector<std::vector<double>> budget_error;  // sampler, point
  double error_constant = 0;

  void add(const HeadConvergence& other);
  void divide();
  void write(ByteWriter& part) const;
  void read(ByteReader& part);
};

using HeadConvergences = std::map<std::pair<int, int>, HeadConvergence>;  // by layer and head

// Adds the metrics, coordinates, settings, flags and notices of converge() to those of the scan.
// The options are resolved: options.scan.own_normalizer is there.
void write_convergence(const HeadConvergences& heads, const ConvergeOptions& options,
                       const SourceInfo& info, Results& results);

// How paper A's and paper B's figures rank the heads (docs/convergence.md).
void write_correlations(const ConvergeOptions& options, Results& results);

}  // namespace headgauge
