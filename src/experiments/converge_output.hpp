// Converts the findings about each head to the metrics of converge().
#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "convergence/subsample.hpp"
#include "headgauge/bytes.hpp"
#include "headgauge/converge.hpp"

namespace headgauge {

// The tolerance for comparing budgets and for the reduced cache, with the sampler "recent": a
// serving engine can apply it without scores.
inline constexpr double kServed = 0.05;

// One kind of error of a head, by number of tokens; sums over documents until divide().
struct ErrorCurve {
  std::vector<double> relative, absolute;
  // Variances of the absolute and of the relative error over the replicates of one document.
  std::vector<double> variance, variance_absolute;
  double floor = 0;  // largest floor of the relative error over the documents
  int documents = 0;
  int relative_documents = 0;  // documents in which the relative error is defined

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
  int budgets = 0;  // number of documents behind the next three
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
// The options must be resolved, including options.scan.own_normalizer.
void write_convergence(const HeadConvergences& heads, const ConvergeOptions& options,
                       const SourceInfo& info, Results& results);

}  // namespace headgauge
