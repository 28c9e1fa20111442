// Many words of a stream of random numbers at once.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.hpp"

namespace headgauge {

// The words of the blocks 0, 1, ... of `stream`, four a block: the same as RandomStream::block()
// gives, several blocks at a time.
void random_words(const RandomStream& stream, std::span<std::uint32_t> words);

}  // namespace headgauge
