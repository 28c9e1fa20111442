// Computes many words of a stream of random numbers at once.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.hpp"

namespace headgauge {

// Writes the words of the blocks 0, 1, ... of `stream`, four per block. They equal those of
// RandomStream::block(), but several blocks are computed at a time.
void random_words(const RandomStream& stream, std::span<std::uint32_t> words);

}  // namespace headgauge
