// Tensors into a file that is being written.
#pragma once

#include <map>
#include <span>
#include <string>

#include "base/file.hpp"
#include "headgauge/checkpoint.hpp"

namespace headgauge {

// What write_safetensors() writes; the file is not committed.
void put_safetensors(AtomicFile& file, std::span<const TensorData> tensors,
                     const std::map<std::string, std::string>& metadata);

}  // namespace headgauge
