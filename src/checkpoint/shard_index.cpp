#include "checkpoint/shard_index.hpp"

#include <filesystem>
#include <set>

#include "base/file.hpp"
#include "base/strict_json.hpp"
#include "headgauge/base.hpp"

namespace headgauge {
namespace {

// Returns the path of a shard within the folder of the index; empty if it could lead elsewhere.
std::string path_within(const std::string& file) {
  const auto path = std::filesystem::path(file).lexically_normal();
  const bool within = path.is_relative() && path.has_filename() && path != "." &&
                      *path.begin() != ".." && file.find('\0') == file.npos;
  return within ? path.string() : std::string();
}

}  // namespace

ShardIndex parse_shard_index(std::string_view text, const std::string& path) {
  constexpr const char* kAdvice = "fetch the model again";
  const auto json = parse_json_object(text, path);
  const auto map = json.find("weight_map");
  refuse_if(map == json.end() || !map->is_object() || map->empty(), path + ": field weight_map",
            "an object from tensor to file",
            map == json.end()  ? "no such field"
            : map->is_object() ? "an empty one"
                               : describe(*map),
            kAdvice);
  ShardIndex index;
  std::set<std::string> files;
  for (const auto& [tensor, file] : map->items()) {
    const std::string within = file.is_string() ? path_within(file) : std::string();
    refuse_if(within.empty(), path + ": tensor " + in_quotes(tensor),
              "a file in the folder of the index", describe(file), kAdvice);
    index.file_of.emplace(tensor, within);
    files.insert(within);
  }
  index.files.assign(files.begin(), files.end());
  return index;
}

ShardIndex read_shard_index(const std::string& path) {
  return parse_shard_index(read_file(path), path);
}

}  // namespace headgauge
