// Every normalizer with its defaults, with other values that follow from the declaration of its
// parameters, and some with values of interest.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "headgauge/normalize.hpp"

namespace headgauge {

// For each parameter: every other word that it takes, and one and a half times its number.
inline std::vector<std::string> other_values(const NormalizerInfo& info) {
  std::vector<std::string> specs;
  for (const Parameter& parameter : info.parameters.declared()) {
    const std::string begin = info.name + ":" + parameter.key + "=";
    for (const std::string& word : parameter.words) {
      if (parameter.initial != ParameterValue(word)) specs.push_back(begin + word);
    }
    const double* const initial = std::get_if<double>(&parameter.initial);
    double value = initial == nullptr || *initial == 0 ? -0.5 : 1.5 * *initial;
    if (parameter.domain.whole) value = 2 * std::round(value / 2);
    if (!parameter.domain.contains(value)) value = 0.5;
    specs.push_back(begin + fmt::format("{:.4g}", value));
  }
  return specs;
}

inline std::vector<std::string> every_spec() {
  std::vector<std::string> specs;
  for (const NormalizerInfo& info : normalizers()) {
    specs.push_back(info.name);
    for (const std::string& spec : other_values(info)) specs.push_back(spec);
  }
  for (const char* more :
       {"softmax:t=0.3", "ssmax:s=1,b=0.5", "yarn:factor=32", "cosine:g=3", "entmax:alpha=1.2",
        "entmax:alpha=1.9", "entmax:alpha=2.7", "entmax:alpha=4", "asentmax:alpha=2,gamma=-0.5",
        "sink:b=3", "topk:k=1", "topk:k=3", "softcap:c=2"}) {
    specs.push_back(more);
  }
  return specs;
}

// A spec as a name that GoogleTest accepts.
inline std::string spec_name(std::string spec) {
  std::ranges::replace_if(
      spec, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return spec;
}

}  // namespace headgauge
