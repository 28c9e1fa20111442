#include "convergence/state.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

// JSON stores errors exactly: numbers are written with all digits they need.
Json to_json(const SweepState& state) {
  Json scales = Json::array();
  for (std::size_t s = 0; s < state.cells.size(); ++s) {
    Json scale = Json::object();
    if (const auto& r = state.references[s]) {
      scale["reference"] = {{"mean_unit", r->mean_unit},
                            {"covariance_unit", r->covariance_unit},
                            {"mean_error", r->mean_error},
                            {"covariance_error", r->covariance_error},
                            {"method", r->method}};
    }
    scale["points"] = Json::array();
    for (const auto& cell : state.cells[s]) {
      if (!cell) break;  // points finish in order
      scale["points"].push_back({{"mean", cell->mean}, {"covariance", cell->covariance}});
    }
    scales.push_back(std::move(scale));
  }
  return scales;
}

// Reads the norm of a difference, or the unit of such norms.
double norm_at(const Json& json) {
  const double norm = json.get<double>();
  if (!std::isfinite(norm) || norm < 0) throw std::out_of_range("norm");
  return norm;
}

std::vector<double> norms_at(const Json& json, int replicates) {
  if (!json.is_array() || json.size() != static_cast<std::size_t>(replicates)) {
    throw std::out_of_range("replicates");
  }
  std::vector<double> norms;
  std::ranges::transform(json, std::back_inserter(norms), norm_at);
  return norms;
}

SweepState from_json(const Json& json, std::size_t scales, std::size_t points, int replicates) {
  SweepState state;
  state.references.resize(scales);
  state.cells.assign(scales, std::vector<std::optional<CellErrors>>(points));
  if (json.size() != scales) throw std::out_of_range("scales");
  for (std::size_t s = 0; s < scales; ++s) {
    const Json& scale = json.at(s);
    if (scale.contains("reference")) {
      const Json& r = scale.at("reference");
      state.references[s] = {norm_at(r.at("mean_unit")), norm_at(r.at("covariance_unit")),
                             norm_at(r.at("mean_error")), norm_at(r.at("covariance_error")),
                             r.at("method")};
    }
    const Json& done = scale.at("points");
    for (std::size_t p = 0; p < done.size(); ++p) {
      state.cells[s].at(p) = CellErrors{norms_at(done.at(p).at("mean"), replicates),
                                        norms_at(done.at(p).at("covariance"), replicates)};
    }
  }
  return state;
}

}  // namespace

StateFile::StateFile(std::string path, Json identity)
    : file_(std::move(path), "headgauge.synthetic-state/2", "the state of a simulation",
            "SyntheticOptions::state", std::move(identity)) {}

std::optional<SweepState> StateFile::load(std::size_t scales, std::size_t points,
                                          int replicates) const {
  std::optional<SweepState> state;
  file_.load([&](const Json& json) { state = from_json(json, scales, points, replicates); });
  return state;
}

void StateFile::save(const SweepState& state) const {
  file_.save(to_json(state));
}

}  // namespace headgauge
