// The folder that an export writes.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "base/file.hpp"
#include "headgauge/files.hpp"
#include "headgauge/plan.hpp"

namespace headgauge {

// Throws UsageError, which names the file, unless the folder is missing, empty, or holds what an
// export wrote, by the SHA-256 of each file and the target of each link in its
// headgauge_export.json.
void require_own_export(const std::string& folder, const std::stop_token& stop = {});

// Builds the folder beside its place, where commit() puts it in one step: a process that is killed
// leaves the old one or the new one, and the next export removes what it built.
class ExportFolder {
 public:
  explicit ExportFolder(std::string folder, std::stop_token stop = {});
  ~ExportFolder();
  ExportFolder(const ExportFolder&) = delete;
  ExportFolder& operator=(const ExportFolder&) = delete;

  // Returns the path at which a file is to be written, and lists it.
  std::string add(const std::string& name);
  void write(const std::string& name, std::string_view text) { write_atomically(add(name), text); }
  // Throws UsageError for a file in the place itself.
  void link(const std::string& to, const std::string& name);
  // Throws InterruptedError if a stop was requested.
  void require_going() const;
  // Throws as require_own_export() does, too, for what was put in its place meanwhile.
  PlanExport commit();

  static constexpr const char* kAdvice = "choose another Run::out";
  PlanExport done = {};

 private:
  [[noreturn]] void fail(int error) const;

  std::string folder_, built_;  // afterwards, built_ names what was in the place
  std::stop_token stop_;
  MadeFolder made_;
  Descriptor lock_;
};

}  // namespace headgauge
