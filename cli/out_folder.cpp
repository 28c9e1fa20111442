#include "cli/out_folder.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "headgauge/results_folder.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {

namespace fs = std::filesystem;

std::string results_path(const std::string& folder) {
  return (fs::path(folder) / kResultsFile).string();
}

std::string results_file(const std::string& path) {
  std::error_code none;  // what cannot be looked at is said when it is opened
  return fs::is_directory(path, none) ? results_path(path) : path;
}

std::string written_line(const Results& results, const std::string& folder,
                         const std::vector<std::string>& further) {
  std::vector<std::string> paths{results_path(folder)};
  if (has_heads(results)) paths.push_back((fs::path(folder) / kHeadsFile).string());
  paths.insert(paths.end(), further.begin(), further.end());
  return fmt::format("Written: {}\n", legible(fmt::format("{}", fmt::join(paths, ", "))));
}

OutFolder::OutFolder(std::string path) : path_(std::move(path)), made_(path_, kOutAdvice) {
  AtomicFiles trial(path_);
  for (const char* name : {kResultsFile, kHeadsFile}) trial.add(name);
}

void OutFolder::save(const Results& results) const {
  write_results_folder(results, path_);
}

}  // namespace headgauge::cli
