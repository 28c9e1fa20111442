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
    part.put_list(next.right);
    part.put_list(next.likeliest);
    part.put_list(next.divergence);
    part.put_list(next.output_change);
  }
  return part.take();
}

namespace {

// Throws unless there are `count` values, or none.
template <class T>
void require_values(const std::vector<T>& values, Index count) {
  if (values.empty() || std::ssize(values) == count) return;
  throw DamagedPartError("a value of each token of the text", "another number");
}

}  // namespace

std::vector<NextTokens> read_next_tokens(const Bytes& bytes, std::size_t variants,
                                         const SourceInfo& source, Index document) {
  const Index tokens = source.documents[document];
  ByteReader part(bytes);
  if (part.take<std::uint64_t>() != variants) {
    throw DamagedPartError("next tokens of the models that are compared", "those of others");
  }
  std::vector<NextTokens> list(variants);
  for (NextTokens& next : list) {
    next.losses = part.take_list<double>();
    next.right = part.take_list<std::uint8_t>();
    next.likeliest = part.take_list<int>();
    next.divergence = part.take_list<double>();
    next.output_change = part.take_list<double>();
    require_values(next.losses, source.predicted(document));
    require_values(next.right, std::ssize(next.losses));
    require_values(next.likeliest, std::ssize(next.losses));
    require_values(next.divergence, tokens);
    require_values(next.output_change, tokens);
  }
  part.require_end();
  return list;
}

}  // namespace headgauge
