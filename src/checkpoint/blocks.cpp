#include "checkpoint/blocks.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "kernels/gemm.hpp"

namespace headgauge {
namespace {

using Byte = std::uint8_t;

// A block type: its number of elements and bytes, the number and place of its float16 scales, and
// decode(), which gets the block and the scales as float32. Products of a scale and a quant are
// exact in float32 (11 bits by at most 11), so results do not depend on whether a compiler fuses
// them with a sum.
struct Q4_0 {
  static constexpr int kElements = 32, kBytes = 18;
  static constexpr int kScales = 1, kScalesAt = 0;
  static void decode(const Byte* block, const float* scales, float* out) {
    for (int i = 0; i < 16; ++i) {
      const int q = block[2 + i];
      out[i] = scales[0] * static_cast<float>((q & 15) - 8);
      out[i + 16] = scales[0] * static_cast<float>((q >> 4) - 8);
    }
  }
};

struct Q4_1 {
  static constexpr int kElements = 32, kBytes = 20;
  static constexpr int kScales = 2, kScalesAt = 0;
  static void decode(const Byte* block, const float* scales, float* out) {
    for (int i = 0; i < 16; ++i) {
      const int q = block[4 + i];
      out[i] = scales[0] * static_cast<float>(q & 15) + scales[1];
      out[i + 16] = scales[0] * static_cast<float>(q >> 4) + scales[1];
    }
  }
};

// Returns the fifth bit of one of 32 elements.
int fifth_bit(const Byte* bits, int element) {
  return (bits[element / 8] >> (element % 8) & 1) << 4;
}

struct Q5_0 {
  static constexpr int kElements = 32, kBytes = 22;
  static constexpr int kScales = 1, kScalesAt = 0;
  static void decode(const Byte* block, const float* scales, float* out) {
    for (int i = 0; i < 16; ++i) {
      const int low = (block[6 + i] & 15) | fifth_bit(block + 2, i);
      const int high = (block[6 + i] >> 4) | fifth_bit(block + 2, i + 16);
      out[i] = scales[0] * static_cast<float>(low - 16);
      out[i + 16] = scales[0] * static_cast<float>(high - 16);
    }
  }
};

struct Q5_1 {
  static constexpr int kElements = 32, kBytes = 24;
  static constexpr int kScales = 2, kScalesAt = 0;
  static void decode(const Byte* block, const float* scales, float* out) {
    for (int i = 0; i < 16; ++i) {
      const int low = (block[8 + i] & 15) | fifth_bit(block + 4, i);
      const int high = (block[8 + i] >> 4) | fifth_bit(block + 4, i + 16);
      out[i] = scales[0] * static_cast<float>(low) + scales[1];
      out[i + 16] = scales[0] * static_cast<float>(high) + scales[1];
    }
  }
};

struct Q8_0 {
  static constexpr int kElements = 32, kBytes = 34;
  static constexpr int kScales = 1, kScalesAt = 0;
  static void decode(const Byte* block, const float* scales, float* out) {
    for (int i = 0; i < 32; ++i) {
      out[i] = static_cast<float>(static_cast<std::int8_t>(block[2 + i])) * scales[0];
    }
  }
};

// 16 groups of 16, each with a scale and a minimum of 4 bits. Elements have 2 bits; a byte holds 4
// of them, 32 apart.
struct Q2_K {
  static constexpr int kElements = 256, kBytes = 84;
  static constexpr int kScales = 2, kScalesAt = 80;
  static void decode(const Byte* block, const float* scales, float* out) {
    for (int group = 0; group < 16; ++group) {
      const float scale = scales[0] * static_cast<float>(block[group] & 15);
      const float least = scales[1] * static_cast<float>(block[group] >> 4);
      const Byte* quants = block + 16 + group / 8 * 32 + group % 2 * 16;
      const int shift = group % 8 / 2 * 2;
      for (int i = 0; i < 16; ++i) {
        out[16 * group + i] = scale * static_cast<float>(quants[i] >> shift & 3) - least;
      }
    }
  }
};

// Like Q2_K, but with a separate third bit, and scales of 6 bits minus 32.
struct Q3_K {
  static constexpr int kElements = 256, kBytes = 110;
  static constexpr int kScales = 1, kScalesAt = 108;
  static void decode(const Byte* block, const float* scales, float* out) {
    const Byte* packed = block + 96;
    for (int group = 0; group < 16; ++group) {
      const int low = packed[group % 8] >> group / 8 * 4 & 15;
      const int high = packed[8 + group % 4] >> group / 4 * 2 & 3;
      const float scale = scales[0] * static_cast<float>((low | high << 4) - 32);
      const Byte* quants = block + 32 + group / 8 * 32 + group % 2 * 16;
      const Byte* bits = block + group % 2 * 16;
      const int shift = group % 8 / 2 * 2;
      for (int i = 0; i < 16; ++i) {
        const int less = (bits[i] >> group / 2 & 1) == 0 ? 4 : 0;
        out[16 * group + i] = scale * static_cast<float>((quants[i] >> shift & 3) - less);
      }
    }
  }
};

// The scale and the minimum (6 bits each) of 8 groups of 32 elements.
struct ScaleAndLeast {
  float scale, least;
};
ScaleAndLeast scale_and_least(const Byte* packed, int group, const float* scales) {
  int scale, least;
  if (group < 4) {
    scale = packed[group] & 63;
    least = packed[group + 4] & 63;
  } else {
    scale = (packed[group + 4] & 15) | (packed[group - 4] >> 6) << 4;
    least = packed[group + 4] >> 4 | (packed[group] >> 6) << 4;
  }
  return {scales[0] * static_cast<float>(scale), scales[1] * static_cast<float>(least)};
}

struct Q4_K {
  static constexpr int kElements = 256, kBytes = 144;
  static constexpr int kScales = 2, kScalesAt = 0;
  static void decode(const Byte* block, const float* scales, float* out) {
    for (int group = 0; group < 8; ++group) {
      const auto [scale, least] = scale_and_least(block + 4, group, scales);
      const Byte* quants = block + 16 + group / 2 * 32;
      const int shift = group % 2 * 4;
      for (int i = 0; i < 32; ++i) {
        out[32 * group + i] = scale * static_cast<float>(quants[i] >> shift & 15) - least;
      }
    }
  }
};

struct Q5_K {
  static constexpr int kElements = 256, kBytes = 176;
  static constexpr int kScales = 2, kScalesAt = 0;
  static void decode(const Byte* block, const float* scales, float* out) {
    const Byte* bits = block + 16;
    for (int group = 0; group < 8; ++group) {
      const auto [scale, least] = scale_and_least(block + 4, group, scales);
      const Byte* quants = block + 48 + group / 2 * 32;
      const int shift = group % 2 * 4;
      for (int i = 0; i < 32; ++i) {
        const int q = (quants[i] >> shift & 15) | (bits[i] >> group & 1) << 4;
        out[32 * group + i] = scale * static_cast<float>(q) - least;
      }
    }
  }
};

// 16 groups of 16 with scales of 8 bits. Elements have 4 low bits and 2 high ones, minus 32.
struct Q6_K {
  static constexpr int kElements = 256, kBytes = 210;
  static constexpr int kScales = 1, kScalesAt = 208;
  static void decode(const Byte* block, const float* scales, float* out) {
    for (int group = 0; group < 16; ++group) {
      const float scale =
          scales[0] * static_cast<float>(static_cast<std::int8_t>(block[192 + group]));
      const int half = group / 8, part = group % 8 / 2, from = group % 2 * 16;
      const Byte* low = block + half * 64 + part % 2 * 32 + from;
      const Byte* high = block + 128 + half * 32 + from;
      const int low_shift = part / 2 * 4, high_shift = part * 2;
      for (int i = 0; i < 16; ++i) {
        const int q = (low[i] >> low_shift & 15) | (high[i] >> high_shift & 3) << 4;
        out[16 * group + i] = scale * static_cast<float>(q - 32);
      }
    }
  }
};

// Decodes whole blocks, many at a time, so that their scales are widened together.
template <class Block>
void widen_whole(const std::byte* from, std::size_t count, float* out) {
  constexpr std::size_t kAtOnce = 64, kScales = Block::kScales;
  std::array<std::uint16_t, kAtOnce * kScales> halves;
  std::array<float, kAtOnce * kScales> scales;
  while (count > 0) {
    const std::size_t n = std::min(count, kAtOnce);
    for (std::size_t b = 0; b < n; ++b) {
      std::memcpy(&halves[b * kScales], from + b * Block::kBytes + Block::kScalesAt, 2 * kScales);
    }
    widen(std::span(halves).first(n * kScales), HalfType::f16,
          std::span(scales).first(n * kScales));
    for (std::size_t b = 0; b < n; ++b) {
      Block::decode(reinterpret_cast<const Byte*>(from + b * Block::kBytes), &scales[b * kScales],
                    out + b * Block::kElements);
    }
    from += n * Block::kBytes;
    out += n * Block::kElements;
    count -= n;
  }
}

template <class Block>
void widen_range(const std::byte* from, Index first, std::span<float> out) {
  constexpr std::size_t kElements = Block::kElements;
  const auto begin = static_cast<std::size_t>(first);
  from += begin / kElements * Block::kBytes;
  std::array<float, kElements> whole;
  // Decodes part of a block.
  const auto part = [&](std::size_t skip) {
    const std::size_t n = std::min(kElements - skip, out.size());
    widen_whole<Block>(from, 1, whole.data());
    std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(skip), n, out.begin());
    from += Block::kBytes;
    out = out.subspan(n);
  };
  if (begin % kElements != 0) part(begin % kElements);
  const std::size_t count = out.size() / kElements;
  widen_whole<Block>(from, count, out.data());
  from += count * Block::kBytes;
  out = out.subspan(count * kElements);
  if (!out.empty()) part(0);
}

}  // namespace

void widen_blocks(DType type, std::span<const std::byte> blocks, Index first,
                  std::span<float> out) {
  const std::byte* from = blocks.data();
  switch (type) {
    case DType::Q4_0:
      return widen_range<Q4_0>(from, first, out);
    case DType::Q4_1:
      return widen_range<Q4_1>(from, first, out);
    case DType::Q5_0:
      return widen_range<Q5_0>(from, first, out);
    case DType::Q5_1:
      return widen_range<Q5_1>(from, first, out);
    case DType::Q8_0:
      return widen_range<Q8_0>(from, first, out);
    case DType::Q2_K:
      return widen_range<Q2_K>(from, first, out);
    case DType::Q3_K:
      return widen_range<Q3_K>(from, first, out);
    case DType::Q4_K:
      return widen_range<Q4_K>(from, first, out);
    case DType::Q5_K:
      return widen_range<Q5_K>(from, first, out);
    case DType::Q6_K:
      return widen_range<Q6_K>(from, first, out);
    default:
      throw UsageError(fault("widen_blocks()", "a type of blocks", std::string(dtype_name(type)),
                             "widen it as it stands"));
  }
}

}  // namespace headgauge
