#pragma once

#include <span>
#include <string>

#include "headgauge/checkpoint.hpp"

namespace headgauge {

// Returns the checksum of Safetensors::sha256(); `head` is everything before the data.
std::string sampled_sha256(std::span<const std::byte> head, std::span<const TensorView> tensors);

}  // namespace headgauge
