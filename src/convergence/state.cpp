#include "convergence/state.hpp"

#include <filesystem>
#include <utility>

#include "base/file.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "headgauge.synthetic-state/1";
constexpr const char* kAdvice =
    "delete the file to begin anew, or choose another SyntheticOptions::state";

// Errors are exact in JSON: numbers are written with as many digits as they need.
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
      if (!cell) break;  // points are finished in order
      scale["points"].push_back({{"mean", cell->mean}, {"covariance", cell->covariance}});
    }
    scales.push_back(std::move(scale));
  }
  return scales;
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
      state.references[s] = {r.at("mean_unit"), r.at("covariance_unit"), r.at("mean_error"),
                             r.at("covariance_error"), r.at("method")};
    }
    const Json& done = scale.at("points");
    for (std::size_t p = 0; p < done.size(); ++p) {
      CellErrors cell{done.at(p).at("mean"), done.at(p).at("covariance")};
      const auto wanted = static_cast<std::size_t>(replicates);
      if (cell.mean.size() != wanted || cell.covariance.size() != wanted) {
        throw std::out_of_range("replicates");
      }
      state.cells[s].at(p) = std::move(cell);
    }
  }
  return state;
}

}  // namespace

StateFile::StateFile(std::string path, Json identity)
    : path_(std::move(path)), identity_(std::move(identity)) {}

std::optional<SweepState> StateFile::load(std::size_t scales, std::size_t points,
                                          int replicates) const {
  if (path_.empty() || !std::filesystem::exists(path_)) return std::nullopt;
  try {
    const Json json = Json::parse(read_text(path_));
    if (json.at("schema") != kSchema) throw std::out_of_range("schema");
    const Json& found = json.at("settings");
    if (found != identity_) {
      std::string which = "other settings";
      for (const auto& [key, value] : identity_.items()) {
        if (!found.contains(key) || found.at(key) != value) {
          which = "one with another value of " + key;
          break;
        }
      }
      throw BadInputError(fault(path_, "an unfinished run of the same settings", which, kAdvice));
    }
    return from_json(json.at("scales"), scales, points, replicates);
  } catch (const nlohmann::json::exception&) {
    throw BadInputError(fault(path_, "the state of a simulation", "something else", kAdvice));
  } catch (const std::out_of_range&) {
    throw BadInputError(fault(path_, "the state of a simulation", "something else", kAdvice));
  }
}

void StateFile::save(const SweepState& state) const {
  if (path_.empty()) return;
  const Json json = {{"schema", kSchema}, {"settings", identity_}, {"scales", to_json(state)}};
  write_atomically(path_, json.dump() + "\n");
}

}  // namespace headgauge
