// The quantised types of llama.cpp: blocks of 32 or 256 elements with their own scales.
#pragma once

#include <span>

#include "headgauge/checkpoint.hpp"

namespace headgauge {

// Decodes elements [first, first + out.size()) of blocks of a quantised type (dtype_block() above
// 1) to float32, bit for bit as the Python package gguf does.
void widen_blocks(DType type, std::span<const std::byte> blocks, Index first, std::span<float> out);

}  // namespace headgauge
