#include "scan/recorded.hpp"

#include <cstdint>

namespace headgauge {

std::optional<Bytes> recorded(Journal& journal, Index document,
                              const std::function<Bytes()>& compute) {
  std::optional<Bytes> part = journal.find(-1, document);
  if (part || !journal.computes(document)) return part;
  try {
    part = compute();
  } catch (const AttentionError& error) {
    journal.fail(-1, document, error.what());
    throw;
  }
  journal.keep(-1, document, *part);
  return part;
}

Bytes write_next_tokens(std::span<const NextTokens> list) {
  ByteWriter part;
  part.put(static_cast<std::uint64_t>(list.size()));
  for (const NextTokens& next : list) {
    part.put_list(next.losses);
    part.put_list(next.divergence);
    part.put_list(next.output_change);
  }
  return part.take();
}

std::vector<NextTokens> read_next_tokens(const Bytes& bytes) {
  ByteReader part(bytes);
  std::vector<NextTokens> list;
  for (auto left = part.take<std::uint64_t>(); left > 0; --left) {
    NextTokens& next = list.emplace_back();
    next.losses = part.take_list<double>();
    next.divergence = part.take_list<double>();
    next.output_change = part.take_list<double>();
  }
  return list;
}

}  // namespace headgauge
