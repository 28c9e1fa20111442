#include "reproduce/rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "convergence/rate.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/metric_names.hpp"
#include "reproduce/judgement.hpp"
#include "statistics/false_discoveries.hpp"
#include "statistics/student.hpp"

namespace headgauge {

double freedom_of_fit(const LabelledArray& metric, std::size_t offset, double parameters) {
  const double left =
      metric.rows.empty() ? 0 : static_cast<double>(metric.rows[offset]) - parameters;
  return left > 0 ? left : kKnownError;
}

Rates compare_rates(Evidence& found, const std::string& experiment, const std::string& kind,
                    double share, double proxy) {
  const LabelledArray& rates = found.of_experiment(experiment, "rate_" + kind);
  const LabelledArray& predicted = found.of_experiment(experiment, metric::rate_predicted);
  const double margin = found.threshold("tolerance");
  int fitted = 0, fast_enough = 0;
  double least_margin = kUndefined, slowest = kUndefined, fastest = kUndefined;
  std::vector<double> p_of_slower;
  for (std::size_t i = 0; i < rates.values.size(); ++i) {
    const Estimate cell = rates.at_offset(i);
    const double prediction =
        proxy == 1 ? predicted.values[i]
                   : predicted_rate(proxy *
                                    found.results.at(experiment_metric(experiment, metric::horizon),
                                                     {static_cast<Index>(i)}));
    if (std::isnan(cell.value) || !(cell.standard_error > 0) || std::isnan(prediction)) continue;
    const MeanWithError rate{cell.value, cell.standard_error, freedom_of_fit(rates, i, 2)};
    ++fitted;
    if (t_test(rate, prediction - margin, Tail::above).p < kRateLevel) ++fast_enough;
    p_of_slower.push_back(t_test(rate, prediction, Tail::below).p);
    least_margin = std::fmin(least_margin, (rate.value - prediction) / rate.standard_error);
    slowest = std::fmin(slowest, rate.value);
    fastest = std::fmax(fastest, rate.value);
  }
  const auto slower = std::ranges::count_if(adjusted_p_values(p_of_slower),
                                            [](double p) { return p < kFamilyLevel; });
  for (const std::string& name :
       {kind, fmt::format("{}_{}{}", experiment, proxy == 1 ? "" : "proxy_", kind)}) {
    found.set({{name + "_fitted", fitted},
               {name + "_slower", slower},
               {name + "_fast_enough", fast_enough},
               {name + "_least_margin", least_margin},
               {name + "_rate_slowest", slowest},
               {name + "_rate_fastest", fastest}});
  }
  return {fitted, verdict_if(slower == 0 && fast_enough >= share * fitted, slower > 0)};
}

void judge_rates(Evidence& found, const std::string& experiment, int fewest, double share,
                 double proxy) {
  const Rates mean = compare_rates(found, experiment, "mean", share, proxy);
  const Rates covariance = compare_rates(found, experiment, "covariance", share, proxy);
  found.need(std::min(mean.fitted, covariance.fitted) >= fewest, "rates");
  const bool by_covariance =
      mean.verdict == Verdict::holds || covariance.verdict == Verdict::does_not_hold;
  found.verdict = (by_covariance ? covariance : mean).verdict;
}

}  // namespace headgauge
