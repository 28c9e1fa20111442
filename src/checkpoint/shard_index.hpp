// model.safetensors.index.json of a sharded checkpoint.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headgauge {

struct ShardIndex {
  std::map<std::string, std::string>
      file_of;                     // tensor name -> file, within the folder of the index
  std::vector<std::string> files;  // ascending, no duplicates
};

ShardIndex parse_shard_index(std::string_view text, const std::string& path);
ShardIndex read_shard_index(const std::string& path);

}  // namespace headgauge
