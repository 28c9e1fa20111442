// The folder that an export writes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.hpp"
#include "headgauge/files.hpp"
#include "headgauge/plan.hpp"

namespace headgauge {

// Makes the folder, which stays only if something is written to it.
class ExportFolder {
 public:
  explicit ExportFolder(std::string folder) : folder_(std::move(folder)), made_(folder_, kAdvice) {}

  std::string path(const std::string& name) const {
    return (std::filesystem::path(folder_) / name).string();
  }
  void write(const std::string& name, std::string_view text) {
    write_atomically(path(name), text);
    done.files.push_back(path(name));
  }

  static constexpr const char* kAdvice = "choose another folder";
  PlanExport done = {};

 private:
  std::string folder_;
  MadeFolder made_;
};

}  // namespace headgauge
