#include "scan/specs.hpp"

#include <string_view>

namespace headgauge {

std::vector<std::string> split_specs(const std::vector<std::string>& lists) {
  std::vector<std::string> specs;
  for (const std::string& list : lists) {
    std::string_view rest = list;
    bool first = true;  // each list begins a new spec
    while (true) {
      const std::size_t comma = rest.find(',');
      const std::string_view part = rest.substr(0, comma);
      const std::size_t equals = part.find('='), colon = part.find(':');
      if (!first && equals != std::string_view::npos && equals < colon) {
        specs.back().append(1, ',').append(part);
      } else {
        specs.emplace_back(part);
      }
      first = false;
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return specs;
}

}  // namespace headgauge
