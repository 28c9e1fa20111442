#include "cli/out_folder.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace headgauge::cli {

namespace fs = std::filesystem;

std::string results_path(const std::string& folder) {
  return (fs::path(folder) / "results.json").string();
}

std::string results_file(const std::string& path) {
  std::error_code none;  // what cannot be looked at is said when it is opened
  return fs::is_directory(path, none) ? results_path(path) : path;
}

std::string heads_csv_path(const std::string& folder) {
  return (fs::path(folder) / "heads.csv").string();
}

bool has_heads(const Results& results) {
  return results.coord("head") != nullptr && results.coord("length") != nullptr;
}

std::string written_line(const Results& results, const std::string& folder,
                         const std::vector<std::string>& further) {
  std::vector<std::string> paths{results_path(folder)};
  if (has_heads(results)) paths.push_back(heads_csv_path(folder));
  paths.insert(paths.end(), further.begin(), further.end());
  return fmt::format("Written: {}\n", fmt::join(paths, ", "));
}

OutFolder::OutFolder(std::string path) : path_(std::move(path)), made_(path_, kOutAdvice) {
  for (const std::string& file : {results_path(path_), heads_csv_path(path_)}) {
    AtomicFile trial(file);
  }
}

void OutFolder::save(const Results& results) const {
  write_results(results, results_path(path_));
  if (has_heads(results)) write_heads_csv(results, heads_csv_path(path_));
}

}  // namespace headgauge::cli
