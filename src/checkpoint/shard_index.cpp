#include "checkpoint/shard_index.hpp"

#include <set>

#include "base/file.hpp"
#include "base/strict_json.hpp"
#include "headgauge/base.hpp"

namespace headgauge {

ShardIndex parse_shard_index(std::string_view text, const std::string& path) {
  constexpr const char* kAdvice = "fetch the model again";
  const auto json = parse_json_object(text, path);
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object() || map->empty()) {
    throw BadInputError(fault(path + ": field weight_map", "an object from tensor to file",
                              map == json.end()  ? "no such field"
                              : map->is_object() ? "an empty one"
                                                 : describe(*map),
                              kAdvice));
  }
  ShardIndex index;
  std::set<std::string> files;
  for (const auto& [tensor, file] : map->items()) {
    // A name that contains a folder could refer to any file.
    const bool plain =
        file.is_string() && !file.get_ref<const std::string&>().empty() &&
        file.get_ref<const std::string&>().find_first_of({"/\0", 2}) == std::string::npos;
    if (!plain) {
      throw BadInputError(fault(path + ": tensor " + in_quotes(tensor),
                                "the name of a file in the folder of the index", describe(file),
                                kAdvice));
    }
    index.file_of.emplace(tensor, file.get<std::string>());
    files.insert(file.get<std::string>());
  }
  index.files.assign(files.begin(), files.end());
  return index;
}

ShardIndex read_shard_index(const std::string& path) {
  return parse_shard_index(read_file(path), path);
}

}  // namespace headgauge
