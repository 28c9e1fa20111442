// Writes tensors to an open file.
#pragma once

#include <map>
#include <span>
#include <string>

#include "base/file.hpp"
#include "headgauge/checkpoint.hpp"

namespace headgauge {

// Does what write_safetensors() does, but does not commit the file.
void put_safetensors(AtomicFile& file, std::span<const TensorData> tensors,
                     const std::map<std::string, std::string>& metadata);

}  // namespace headgauge
