#include "headgauge/results_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "results/header.hpp"

namespace headgauge {

namespace {

constexpr std::string_view kHeadsCsvBegin = "layer,head,";

}  // namespace

bool has_heads(const Results& results) {
  return results.coord("head") != nullptr &&
         (results.coord("length") != nullptr || results.coord("step") != nullptr);
}

void add_results(const Results& results, AtomicFiles& files) {
  put_results(results, files.add(kResultsFile));
  if (has_heads(results)) {
    files.add(kHeadsFile).write(heads_csv_text(results));
  } else if (beginning_of(files.path(kHeadsFile), kHeadsCsvBegin.size()) == kHeadsCsvBegin) {
    files.remove(kHeadsFile);  // a table of earlier results
  }
}

std::string results_path(const std::string& folder) {
  return (std::filesystem::path(folder) / kResultsFile).string();
}

std::string results_file(const std::string& path) {
  std::error_code none;  // opening the file says what is wrong with it
  if (!std::filesystem::is_directory(path, none)) return path;
  const bool is_model = std::filesystem::exists(path + "/config.json", none);
  if (!is_model || std::filesystem::exists(results_path(path), none)) return results_path(path);
  throw BadInputError(fault(path, "a folder with results.json", "a model",
                            "scan it first: headgauge scan " + path + " --text FILE --out DIR"));
}

std::vector<std::string> results_files(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code none;
  std::vector<std::string> files;
  if (fs::is_directory(path, none) && !fs::exists(results_path(path), none)) {
    for (const auto& entry : fs::directory_iterator(path, none)) {
      std::string file = results_path(entry.path().string());
      if (fs::exists(file, none)) files.push_back(std::move(file));
    }
    std::ranges::sort(files);
  }
  if (files.empty()) files.push_back(results_file(path));
  return files;
}

OutFolder::OutFolder(std::string path) : path_(std::move(path)), made_(path_, kOutAdvice) {
  AtomicFiles trial(path_);
  for (const char* name : {kResultsFile, kHeadsFile}) trial.add(name);
}

void OutFolder::save(const Results& results) const {
  write_results_folder(results, path_);
}

void write_results_folder(const Results& results, const std::string& folder) {
  AtomicFiles files(folder);
  add_results(results, files);
  files.commit();
}

}  // namespace headgauge
