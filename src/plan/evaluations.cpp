#include "plan/evaluations.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "headgauge/files.hpp"

namespace headgauge {
namespace {

constexpr std::size_t kKeyDigits = 32;

constexpr double kLeast = -1e-3;  // a cross entropy is only below 0 by rounding

std::vector<double> read_losses(const Bytes& part, Index numbers) {
  ByteReader reader(part);
  auto losses = reader.take_list<double>();
  reader.require_end();
  const auto fits = [](double loss) { return std::isfinite(loss) && loss >= kLeast; };
  if (std::ssize(losses) != numbers || !std::ranges::all_of(losses, fits)) {
    throw DamagedPartError("the losses of each document", "others");
  }
  return losses;
}

}  // namespace

std::string Evaluations::key(const std::string& set, const PerHead<HeadPlan>& plan) {
  std::string text = set;
  for (const HeadPlan& head : plan) text += ";" + head.text();
  return set + " " + text_sha256(text).substr(0, kKeyDigits);
}

const std::vector<double>* Evaluations::find(const std::string& key, Index numbers) {
  const auto known = losses_.find(key);
  if (known != losses_.end()) return &known->second;
  const Journal::Stage stage(journal_, key);
  const auto part = journal_.find(-1, 0);
  return part ? &(losses_[key] = read_losses(*part, numbers)) : nullptr;
}

void Evaluations::add(const std::string& key, std::vector<double> losses) {
  if (journal_.keeps()) {
    ByteWriter part;
    part.put_list(losses);
    const Journal::Stage stage(journal_, key);
    journal_.keep(-1, 0, part.take());
  }
  losses_.insert_or_assign(key, std::move(losses));
}

}  // namespace headgauge
