// Every rule with its defaults, and some with other parameters.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "headgauge/normalize.hpp"

namespace headgauge {

inline std::vector<std::string> every_spec() {
  std::vector<std::string> specs;
  for (const NormalizerInfo& info : normalizers()) specs.push_back(info.name);
  for (const char* more : {"softmax:t=0.3",
                           "ssmax:s=1,b=0.5",
                           "yarn:factor=32",
                           "cosine:g=3",
                           "entmax:alpha=1.2",
                           "entmax:alpha=1.9",
                           "entmax:alpha=2.7",
                           "entmax:alpha=4",
                           "asentmax:alpha=2,gamma=-0.5",
                           "sigmoid:b=-2",
                           "sink:b=3",
                           "relu:power=2",
                           "relu:alpha=0,h=gelu",
                           "relu:h=softplus",
                           "relu:h=identity",
                           "relu:h=relu6,alpha=0.5",
                           "relu:h=sigmoid",
                           "topk:k=1",
                           "topk:k=3",
                           "poly:p=2",
                           "poly-normalized:m=2",
                           "stieltjes:q=1",
                           "stieltjes:q=20",
                           "softcap:c=2",
                           "pointwise:f=exp",
                           "pointwise:f=sigmoid",
                           "pointwise:f=1+l^2",
                           "pointwise:f=taylor2"}) {
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
