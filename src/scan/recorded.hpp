// Numbers of documents that a journal keeps.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "headgauge/journal.hpp"
#include "headgauge/model.hpp"

namespace headgauge {

// A part of a document in the present stage: that of the journal, or what `compute` gives, which
// goes there. Nothing where another process has it, and this one needs none. An AttentionError is
// kept, too.
std::optional<Bytes> recorded(Journal& journal, Index document,
                              const std::function<Bytes()>& compute);

// Throws DamagedPartError unless there are that many values, or none.
void require_values(std::span<const double> values, Index count);

// The same of values: `count` of them, or none.
inline std::vector<double> recorded_values(Journal* journal, Index document, Index count,
                                           const std::function<std::vector<double>()>& compute) {
  if (journal == nullptr) return compute();
  const auto part = recorded(*journal, document, [&] {
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

// What `variants` of a model say of the next tokens of a document of that many.
Bytes write_next_tokens(std::span<const NextTokens> list);
std::vector<NextTokens> read_next_tokens(const Bytes& part, std::size_t variants, Index tokens);

// The same of next tokens, of one model.
inline NextTokens recorded_next_tokens(Journal* journal, Index document, Index tokens,
                                       const std::function<NextTokens()>& compute) {
  if (journal == nullptr) return compute();
  const auto part = recorded(*journal, document, [&] {
    const NextTokens next = compute();
    return write_next_tokens({&next, 1});
  });
  return part ? read_next_tokens(*part, 1, tokens).front() : NextTokens();
}

}  // namespace headgauge
