// The quantised types of llama.cpp: blocks of 32 or 256 elements with scales of their own.
#pragma once

#include <span>

#include "headgauge/checkpoint.hpp"

namespace headgauge {

// Elements [first, first + out.size()) of blocks of this type, which dtype_block() has more than
// one element of, as float32: to the bit what the Python package gguf gives.
void widen_blocks(DType type, std::span<const std::byte> blocks, Index first, std::span<float> out);

}  // namespace headgauge
