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
constexpr std::size_t kHeader = 4096;  // bytes of results.json up to its request
constexpr std::string_view kPageTitle = "<title>headgauge</title>";
constexpr std::size_t kPageHead = 2048;  // bytes that include the title

// Returns the names of the page, of the Markdown file and of the figures that headgauge drew in a
// folder of results, but nothing behind a link.
std::vector<std::string> drawings_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  const std::string page = beginning_of((folder / kReportFile).string(), kPageHead);
  if (page.find(kPageTitle) != page.npos) names.emplace_back(kReportFile);
  const std::string marked = (folder / kMarkdownFile).string();
  if (beginning_of(marked, kMarkdownMark.size()) == kMarkdownMark)
    names.emplace_back(kMarkdownFile);
  std::error_code none;  // a missing folder has none
  if (std::filesystem::is_symlink(folder / kFiguresFolder, none)) return names;
  for (const auto& entry : std::filesystem::directory_iterator(folder / kFiguresFolder, none)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".svg") && beginning_of(path, kFigureMark.size()) == kFigureMark) {
      names.push_back((std::filesystem::path(kFiguresFolder) / entry.path().filename()).string());
    }
  }
  return names;
}

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

void OutFolder::save(const Results& results, bool force) const {
  write_results_folder(results, path_, force);
}

void require_unread_results(const std::string& out, const std::vector<std::string>& paths) {
  require_unread(out, paths, kResultsNames);
  for (const std::string& path : paths) require_unread(out, results_files(path), kResultsNames);
}

void require_request(const std::string& request, const std::string& folder) {
  std::string old = beginning_of(results_path(folder), kHeader);
  std::erase_if(old, [](char c) { return c == ' ' || c == '\n'; });
  const auto says = [&](const std::string& words) { return old.find(words) != old.npos; };
  if (!says(R"("schema":"headgauge.results/)") || says(R"("partial":true)") ||
      says(R"("request":")" + request)) {
    return;
  }
  throw UsageError(fault("Run::out", "a folder without finished results of another request",
                         results_path(folder), "choose another, or replace them with Run::force"));
}

void write_results_folder(const Results& results, const std::string& folder, bool force) {
  const MadeFolder made(folder, kOutAdvice);
  if (!force) require_request(results.request, folder);
  AtomicFiles files(folder);
  add_results(results, files);
  for (const std::string& name : drawings_in(folder)) files.remove(name);
  files.commit();
}

}  // namespace headgauge
