#include "cli/out_folder.hpp"

#include <system_error>
#include <utility>

#include "base/file.hpp"

namespace headgauge::cli {

namespace fs = std::filesystem;

std::string results_path(const std::string& folder) {
  return (fs::path(folder) / "results.json").string();
}

std::string heads_csv_path(const std::string& folder) {
  return (fs::path(folder) / "heads.csv").string();
}

OutFolder::OutFolder(std::string path) : path_(std::move(path)) {
  std::error_code error;
  for (fs::path at = path_; !at.empty() && !fs::exists(at, error); at = at.parent_path()) {
    made_.push_back(at);
  }
  fs::create_directories(path_, error);
  if (!error && !fs::is_directory(path_)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) {
    throw ResourceError(
        fault(path_, "a folder that can be written", error.message(), "choose another --out"));
  }
  for (const std::string& file : {results_path(path_), heads_csv_path(path_)}) {
    AtomicFile trial(file);
  }
}

OutFolder::~OutFolder() {
  std::error_code kept;  // for there is something in it
  for (const fs::path& folder : made_) fs::remove(folder, kept);
}

void OutFolder::save(const Results& results) const {
  write_results(results, results_path(path_));
  write_heads_csv(results, heads_csv_path(path_));
}

}  // namespace headgauge::cli
