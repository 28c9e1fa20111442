// Numbers of documents that a journal keeps.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "headgauge/journal.hpp"
#include "headgauge/model.hpp"

namespace headgauge {

// Returns a part of a document in the present stage: from the journal, or from `compute`, whose
// result the journal then keeps. Returns nothing if another process has it and this one does not
// need it. An AttentionError is kept, too.
std::optional<Bytes> recorded(Journal& journal, Index document,
                              const std::function<Bytes()>& compute);

// Throws DamagedPartError unless there are `count` values, or none.
void require_values(std::span<const double> values, Index count);

// Does the same for values: `count` of them, or none.
inline std::vector<double> recorded_values(Journal& journal, Index document, Index count,
                                           const std::function<std::vector<double>()>& compute) {
  if (!journal.keeps()) return compute();
  const auto part = recorded(journal, document, [&] {
    ByteWriter values;
    values.put_list(compute());
    return values.take();
  });
  if (!part) return {};
  ByteReader reader(*part);
  std::vector<double> values = reader.take_list<double>();
  reader.require_end();
  require_values(values, count);
  return values;
}

// Serialise the next-token predictions of `variants` of a model, for a document with `tokens`
// tokens.
Bytes write_next_tokens(std::span<const NextTokens> list);
std::vector<NextTokens> read_next_tokens(const Bytes& part, std::size_t variants, Index tokens);

// Does the same for the next tokens of one model.
inline NextTokens recorded_next_tokens(Journal& journal, Index document, Index tokens,
                                       const std::function<NextTokens()>& compute) {
  if (!journal.keeps()) return compute();
  const auto part = recorded(journal, document, [&] {
    const NextTokens next = compute();
    return write_next_tokens({&next, 1});
  });
  return part ? read_next_tokens(*part, 1, tokens).front() : NextTokens();
}

}  // namespace headgauge
