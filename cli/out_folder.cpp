#include "cli/out_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "headgauge/text.hpp"

namespace headgauge::cli {

std::string written_line(const Results& results, const std::string& folder,
                         const std::vector<std::string>& further) {
  std::vector<std::string> paths{results_path(folder)};
  if (has_heads(results)) paths.push_back((std::filesystem::path(folder) / kHeadsFile).string());
  paths.insert(paths.end(), further.begin(), further.end());
  return fmt::format("Written: {}\n", legible(fmt::format("{}", fmt::join(paths, ", "))));
}

}  // namespace headgauge::cli
