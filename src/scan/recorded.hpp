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

// The same of values.
inline std::vector<double> recorded_values(Journal* journal, Index document,
                                           const std::function<std::vector<double>()>& compute) {
  if (journal == nullptr) return compute();
  const auto part = recorded(*journal, document, [&] {
    ByteWriter values;
    values.put_list(compute());
    return values.take();
  });
  return part ? ByteReader(*part).take_list<double>() : std::vector<double>();
}

// What a model says of next tokens, of several variants of it.
Bytes write_next_tokens(std::span<const NextTokens> list);
std::vector<NextTokens> read_next_tokens(const Bytes& part);

// The same of next tokens, of one model.
inline NextTokens recorded_next_tokens(Journal* journal, Index document,
                                       const std::function<NextTokens()>& compute) {
  if (journal == nullptr) return compute();
  const auto part = recorded(*journal, document, [&] {
    const NextTokens next = compute();
    return write_next_tokens({&next, 1});
  });
  return part ? read_next_tokens(*part).at(0) : NextTokens();
}

}  // namespace headgauge
