// The folder of --out and the files in it.
#pragma once

#include <string>
#include <vector>

#include "headgauge/files.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

std::string results_path(const std::string& folder);
// The results file that a path means: a folder stands for the results in it.
std::string results_file(const std::string& path);

// "Written: DIR/results.json, DIR/heads.csv", and further files.
std::string written_line(const Results& results, const std::string& folder,
                         const std::vector<std::string>& further = {});

// What to do about a folder that cannot be made.
inline constexpr const char* kOutAdvice = "choose another --out";

// Made and tried before the work begins, so that a folder that cannot be written is reported at
// once (ResourceError). What was made and stays empty goes again.
class OutFolder {
 public:
  explicit OutFolder(std::string path);

  void save(const Results& results) const;

 private:
  std::string path_;
  MadeFolder made_;
};

}  // namespace headgauge::cli
