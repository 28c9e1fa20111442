#include "plan/evaluations.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "headgauge/files.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kKeyDigits = 32;

constexpr double kLeast = -1e-3;  // a cross entropy is only below 0 by rounding

std::vector<double> losses_at(const Json& json) {
  auto losses = json.get<std::vector<double>>();
  const auto fits = [](double loss) { return std::isfinite(loss) && loss >= kLeast; };
  if (!std::ranges::all_of(losses, fits)) throw std::out_of_range("losses");
  return losses;
}

}  // namespace

Evaluations::Evaluations(std::string path, Json identity)
    : file_(std::move(path), "headgauge.plan-state/2", "the state of a plan", "PlanOptions::state",
            std::move(identity)) {
  file_.load([&](const Json& losses) {
    for (const auto& [key, values] : losses.items()) losses_[key] = losses_at(values);
  });
}

std::string Evaluations::key(const std::string& set, const PerHead<HeadPlan>& plan) {
  std::string text = set;
  for (const HeadPlan& head : plan) text += ";" + head.text();
  return set + " " + text_sha256(text).substr(0, kKeyDigits);
}

const std::vector<double>* Evaluations::find(const std::string& key, Index documents) const {
  const auto found = losses_.find(key);
  const bool whole = found != losses_.end() && std::ssize(found->second) == documents;
  return whole ? &found->second : nullptr;
}

void Evaluations::add(const std::string& key, std::vector<double> losses) {
  losses_.insert_or_assign(key, std::move(losses));
  saved_ = false;
}

void Evaluations::save() {
  if (!file_.kept() || saved_) return;
  Json losses = Json::object();
  for (const auto& [key, values] : losses_) losses[key] = values;
  file_.save(losses);
  saved_ = true;
}

}  // namespace headgauge
