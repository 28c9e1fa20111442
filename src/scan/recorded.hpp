// Numbers of documents that a journal keeps.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "headgauge/journal.hpp"
#include "headgauge/model.hpp"

namespace headgauge {

// The values of a document in the present stage: those of the journal, or what `compute` gives,
// which goes there. Empty where another process has them, and this one needs none.
inline std::vector<double> recorded_values(Journal* journal, Index document,
                                           const std::function<std::vector<double>()>& compute) {
  if (journal == nullptr) return compute();
  if (const auto found = journal->find(-1, document)) return ByteReader(*found).take_list<double>();
  if (!journal->computes(document)) return {};
  std::vector<double> values = compute();
  ByteWriter part;
  part.put_list(values);
  journal->keep(-1, document, part.take());
  return values;
}

// What a model says of next tokens, of several variants of it.
Bytes write_next_tokens(std::span<const NextTokens> list);
std::vector<NextTokens> read_next_tokens(const Bytes& part);

// The same of next tokens, of one model.
inline NextTokens recorded_next_tokens(Journal* journal, Index document,
                                       const std::function<NextTokens()>& compute) {
  if (journal == nullptr) return compute();
  if (const auto found = journal->find(-1, document)) return read_next_tokens(*found).at(0);
  if (!journal->computes(document)) return {};
  NextTokens next = compute();
  journal->keep(-1, document, write_next_tokens({&next, 1}));
  return next;
}

}  // namespace headgauge
