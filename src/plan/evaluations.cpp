#include "plan/evaluations.hpp"

#include <filesystem>
#include <utility>

#include "base/file.hpp"
#include "checkpoint/sha256.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "headgauge.plan-state/1";
constexpr const char* kAdvice =
    "delete the file to begin anew, or choose another PlanOptions::state";
constexpr std::size_t kKeyDigits = 32;

}  // namespace

Evaluations::Evaluations(std::string path, Json identity)
    : path_(std::move(path)), identity_(std::move(identity)) {
  if (path_.empty() || !std::filesystem::exists(path_)) return;
  try {
    const Json json = Json::parse(read_text(path_));
    if (json.at("schema") != kSchema) throw std::out_of_range("schema");
    for (const auto& [key, value] : identity_.items()) {
      if (json.at("identity").at(key) == value) continue;
      throw BadInputError(fault(path_, "an unfinished run of the same plan",
                                "one with another value of " + key, kAdvice));
    }
    for (const auto& [key, losses] : json.at("losses").items()) {
      losses_[key] = losses.get<std::vector<double>>();
    }
  } catch (const nlohmann::json::exception&) {
    throw BadInputError(fault(path_, "the state of a plan", "something else", kAdvice));
  } catch (const std::out_of_range&) {
    throw BadInputError(fault(path_, "the state of a plan", "something else", kAdvice));
  }
}

std::string Evaluations::key(const std::string& set, const PerHead<HeadPlan>& plan) {
  std::string text = set;
  for (const HeadPlan& head : plan) text += ";" + head.text();
  return set + " " + sha256_hex(std::as_bytes(std::span(text))).substr(0, kKeyDigits);
}

const std::vector<double>* Evaluations::find(const std::string& key) const {
  const auto found = losses_.find(key);
  return found == losses_.end() ? nullptr : &found->second;
}

void Evaluations::add(const std::string& key, std::vector<double> losses) {
  losses_.insert_or_assign(key, std::move(losses));
  saved_ = false;
}

void Evaluations::save() {
  if (path_.empty() || saved_) return;
  Json losses = Json::object();
  for (const auto& [key, values] : losses_) losses[key] = values;
  const Json json = {{"schema", kSchema}, {"identity", identity_}, {"losses", losses}};
  write_atomically(path_, json.dump() + "\n");
  saved_ = true;
}

}  // namespace headgauge
