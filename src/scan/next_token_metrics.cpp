#include "scan/next_token_metrics.hpp"

#include "scan/output.hpp"
#include "scan/statistics.hpp"

namespace headgauge {
namespace {

using Series = std::vector<std::vector<double>>;  // document -> values

Series losses(const Predictions& predictions) {
  Series series;
  for (const NextTokens& next : predictions) series.push_back(next.losses);
  return series;
}

Series divergences(const Predictions& predictions) {
  Series series;
  for (const NextTokens& next : predictions) series.push_back(next.divergence);
  return series;
}

Series differences(const Series& of, const Series& from) {
  Series series = of;
  for (std::size_t d = 0; d < series.size(); ++d) {
    for (std::size_t t = 0; t < series[d].size(); ++t) series[d][t] -= from[d][t];
  }
  return series;
}

}  // namespace

NextTokenMetrics::NextTokenMetrics(std::vector<std::string> dims, Results& results)
    : results_(results) {
  dims.emplace_back("length");
  loss_ = &add_means(results, "loss", dims, metric_info("loss").unit);
  change_ = &add_means(results, "loss_change", dims, metric_info("loss_change").unit);
  change_->change_of = "loss";
  divergence_ = &add_means(results, "kl", dims, metric_info("kl").unit);
}

void NextTokenMetrics::put(std::span<const Index> cell, const Predictions& original,
                           const Predictions& intervention) {
  const Series own = losses(intervention), change = differences(own, losses(original));
  const Series divergence = divergences(intervention);
  std::vector<Index> full(cell.begin(), cell.end());
  full.push_back(0);
  const auto lengths = results_.coord_numbers("length");
  for (std::size_t l = 0; l < lengths.size(); ++l) {
    full.back() = static_cast<Index>(l);
    const auto at = static_cast<std::size_t>(loss_->offset(full));
    const auto length = static_cast<Index>(lengths[l]);
    put_mean(*loss_, at, series_statistics(own, length - 1));
    put_mean(*change_, at, series_statistics(change, length - 1));
    put_mean(*divergence_, at, series_statistics(divergence, length));
  }
}

}  // namespace headgauge
