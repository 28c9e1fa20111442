// The files of one result in a folder: results.json, and heads.csv if it has heads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headgauge/files.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

inline constexpr const char* kResultsFile = "results.json";
inline constexpr const char* kHeadsFile = "heads.csv";

// Returns true if the results have heads and lengths, which heads.csv requires.
bool has_heads(const Results& results);

// The results file in a folder, and the one that a path means: a folder stands for its results.
std::string results_path(const std::string& folder);
std::string results_file(const std::string& path);
// Does the same for a folder of several results, each in a folder of its own: returns all of these,
// sorted by name.
std::vector<std::string> results_files(const std::string& path);

// What to do about a folder that cannot be made.
inline constexpr const char* kOutAdvice = "choose another Run::out";

// The folder that results are saved in: made and tried before the work begins, so that one that
// cannot be written is a ResourceError at once. What was made and stays empty goes again.
class OutFolder {
 public:
  explicit OutFolder(std::string path);
  // Saves as write_results_folder() does.
  void save(const Results& results, bool force = true) const;

 private:
  std::string path_;
  MadeFolder made_;
};

// Adds both files, results.json first: heads.csv is derived from it. If the results have no heads,
// removes a heads.csv of earlier results.
void add_results(const Results& results, AtomicFiles& files);

inline constexpr const char* kReportFile = "report.html";
inline constexpr const char* kMarkdownFile = "report.md";
inline constexpr const char* kFiguresFolder = "figures";
// The beginning of every Markdown file and of every figure that headgauge writes.
inline constexpr std::string_view kMarkdownMark = "<!-- made by headgauge -->";
inline constexpr std::string_view kFigureMark = "<svg data-by=\"headgauge\"";

// The files and folders that results may have in their folder.
inline const std::vector<std::string> kResultsNames = {kResultsFile, kHeadsFile, kReportFile,
                                                       kMarkdownFile, kFiguresFolder};

// Throws UsageError if results in the folder `out` would replace some of those that are read from
// `paths`, each as results_files() takes it.
void require_unread_results(const std::string& out, const std::vector<std::string>& paths);

// Throws UsageError if the folder has finished results of another request (Results::request).
void require_request(const std::string& request, const std::string& folder);

// Makes the folder, writes both files (AtomicFiles), and removes the page and the figures that
// headgauge drew of older results, but nothing behind a link. Unless `force`, throws as
// require_request() does. Throws ResourceError if one of them cannot be written.
void write_results_folder(const Results& results, const std::string& folder, bool force = true);

}  // namespace headgauge
