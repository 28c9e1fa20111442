#include "checkpoint/sampled_sum.hpp"

#include "base/sha256.hpp"

namespace headgauge {

std::string sampled_sha256(std::span<const std::byte> head, std::span<const TensorView> tensors) {
  constexpr std::size_t kPart = 4096, kParts = 4;
  Sha256 sum;
  sum.add(head);
  for (const TensorView& tensor : tensors) {
    if (tensor.bytes.size() <= kParts * kPart) {
      sum.add(tensor.bytes);
      continue;
    }
    const std::size_t last = tensor.bytes.size() - kPart;
    for (std::size_t k = 0; k < kParts; ++k) {
      sum.add(tensor.bytes.subspan(k * last / (kParts - 1), kPart));
    }
  }
  return sum.hex();
}

}  // namespace headgauge
