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

// Serialise the next-token predictions of `variants` of a model, for a document of the source.
Bytes write_next_tokens(std::span<const NextTokens> list);
std::vector<NextTokens> read_next_tokens(const Bytes& part, std::size_t variants,
                                         const SourceInfo& source, Index document);

// Does the same for the next tokens of one model.
inline NextTokens recorded_next_tokens(Journal& journal, Index document, const SourceInfo& source,
                                       const std::function<NextTokens()>& compute) {
  if (!journal.keeps()) return compute();
  const auto part = recorded(journal, document, [&] {
    const NextTokens next = compute();
    return write_next_tokens({&next, 1});
  });
  return part ? read_next_tokens(*part, 1, source, document).front() : NextTokens();
}

}  // namespace headgauge
