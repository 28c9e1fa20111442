// Code that normalizers and patterns share: a list of entries by name, and specs
// "name:key=value,...".
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgauge/parameters.hpp"

namespace headgauge {

// Names the kind of a spec in error messages: a "normalizer" in "ScanOptions::normalizer", listed
// by `headgauge list normalizers`.
struct SpecOption {
  std::string what;
  std::string command;
  // Names that begin so, and what they mean.
  std::span<const std::pair<std::string_view, std::string_view>> other_names = {};
  std::string name = {};  // name of the option
};

// Splits "name:key=value,..." and returns the index of its name in `known`. Throws UsageError that
// suggests the nearest known names if there is no such name.
std::size_t find_name(const SpecOption& option, std::string_view spec,
                      const std::vector<std::string>& known);

// Sets the parameters that a spec gives; throws UsageError that says what is wrong with them.
void read_parameters(const SpecOption& option, std::string_view spec, Parameters& parameters);

// What specs/*.json says of a normalizer or pattern, with the initial values of its parameters.
struct SpecText {
  std::string name, formula, source;
  Parameters parameters;
  std::string bound, lemma1;  // of a normalizer
  bool by_weight = false;     // of a pattern
};
std::vector<SpecText> read_specs(std::string_view json);

// The makers of a family, by name. A maker gets the description with the chosen values.
template <class Info, class Made>
using Makers = std::vector<std::pair<const char*, std::unique_ptr<Made> (*)(const Info& info)>>;

template <class Info, class Made>
class Registry {
 public:
  // `infos` are in the order of the list; throws std::out_of_range if one has no maker.
  Registry(SpecOption option, std::vector<Info> infos,
           std::initializer_list<Makers<Info, Made>> families)
      : option_(std::move(option)), infos_(std::move(infos)) {
    for (const auto& family : families) makers_.insert(family.begin(), family.end());
    for (const Info& info : infos_) {
      names_.push_back(info.name);
      static_cast<void>(makers_.at(info.name));
    }
  }
  const std::vector<Info>& infos() const { return infos_; }
  // `option` is the option in which the spec was given.
  Info parse(std::string_view spec, std::string_view option) const {
    SpecOption asked = option_;
    asked.name = option;
    Info info = infos_[find_name(asked, spec, names_)];
    read_parameters(asked, spec, info.parameters);
    return info;
  }
  std::unique_ptr<Made> make(const Info& info) const {
    SpecOption asked = option_;
    asked.name = "the name of the " + option_.what;
    return makers_.at(names_[find_name(asked, info.name, names_)])(info);
  }

 private:
  SpecOption option_;
  std::vector<Info> infos_;
  std::vector<std::string> names_;
  std::map<std::string, std::unique_ptr<Made> (*)(const Info&)> makers_;
};

}  // namespace headgauge
