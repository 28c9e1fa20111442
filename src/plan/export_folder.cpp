#include "plan/export_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/strict_json.hpp"
#include "base/temporary.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kMark = "headgauge_export.json";
constexpr std::chrono::seconds kPatience(10);  // as for other files that are written together

// What the mark says of a file; null for what no export writes.
Json content_of(const fs::path& path, const std::stop_token& stop) {
  const fs::file_status status = fs::symlink_status(path);
  if (fs::is_symlink(status)) return {{"link", legible(fs::read_symlink(path).string())}};
  if (fs::is_regular_file(status)) return {{"sha256", file_sha256(path.string(), stop)}};
  return nullptr;
}

// Python keeps what it compiled beside a file that it imports.
bool is_python_cache(const fs::path& path) {
  return path.filename() == "__pycache__" && !fs::is_symlink(path) && fs::is_directory(path) &&
         std::ranges::all_of(fs::directory_iterator(path), [](const fs::directory_entry& entry) {
           return entry.path().extension() == ".pyc" && !entry.is_symlink() &&
                  entry.is_regular_file();
         });
}

}  // namespace

void require_own_export(const std::string& folder, const std::stop_token& stop) try {
  const auto require = [](bool holds, const fs::path& at, const char* found) {
    const char* expected = "no folder, or one of an earlier export as it was written";
    if (!holds) throw UsageError(fault(at.string(), expected, found, ExportFolder::kAdvice));
  };
  const fs::file_status status = fs::symlink_status(folder);
  if (!fs::exists(status)) return;
  require(fs::is_directory(status), folder, "a link or a file");
  if (fs::is_empty(folder)) return;
  const fs::path mark = fs::path(folder) / kMark;
  require(fs::is_regular_file(fs::symlink_status(mark)), folder,
          "files without headgauge_export.json");
  const Json marked =
      parse_json_object<Json>(read_file(mark.string()), mark.string(), ExportFolder::kAdvice);
  const Json files = marked.value("files", Json());
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (path.filename() == kMark || is_python_cache(path)) continue;
    const std::string name = legible(path.filename().string());
    require(files.is_object() && files.contains(name), path, "a file that it did not write");
    const Json content = content_of(path, stop);
    require(content.is_object() && files.at(name) == content, path, "a file that was changed");
  }
} catch (const fs::filesystem_error& error) {
  throw ResourceError(
      fault(folder, "a folder to read", error.code().message(), ExportFolder::kAdvice));
}

ExportFolder::ExportFolder(std::string folder, std::stop_token stop)
    : folder_(std::move(folder)), stop_(std::move(stop)), made_(parent_folder(folder_), kAdvice) {
  remove_strays(folder_, true);
  lock_ = Descriptor(open_temporary(folder_, built_, true));
  if (!lock_.is_open()) fail(errno);
}

ExportFolder::~ExportFolder() {
  std::error_code kept;  // the next export removes it
  fs::remove_all(built_, kept);
}

std::string ExportFolder::add(const std::string& name) {
  done.files.push_back((fs::path(folder_) / name).string());
  return (fs::path(built_) / name).string();
}

void ExportFolder::link(const std::string& to, const std::string& name) {
  const fs::path target = fs::absolute(to);
  std::error_code error;
  if (fs::equivalent(target.parent_path(), folder_, error)) {
    throw UsageError(fault(folder_, "another folder than the model's", "the same", kAdvice));
  }
  fs::create_symlink(target, add(name), error);
  if (error) throw ResourceError(fault(folder_, "a link to " + to, error.message(), kAdvice));
}

void ExportFolder::require_going() const {
  if (stop_.stop_requested()) throw InterruptedError("interrupted; nothing was saved");
}

PlanExport ExportFolder::commit() {
  Json files = Json::object();
  for (const std::string& file : done.files) {
    const std::string name = fs::path(file).filename().string();
    files[legible(name)] = content_of(fs::path(built_) / name, stop_);
  }
  write(kMark, json_text({{"schema", "headgauge.export/1"}, {"files", files}}, 1) + "\n");
  const FolderLock lock(parent_folder(folder_), kPatience);
  require_going();
  require_own_export(folder_, stop_);
  if (const int error = put_in_place(built_, folder_)) fail(error);
  try {
    require_own_export(built_, stop_);  // a file may have come while the others were read
  } catch (const Error&) {
    if (const int error = put_in_place(built_, folder_)) fail(error);
    throw;
  }
  sync_folder(parent_folder(folder_));
  return done;
}

void ExportFolder::fail(int error) const {
  throw ResourceError(fault(folder_, "a folder that can be written",
                            std::generic_category().message(error), kAdvice));
}

}  // namespace headgauge
