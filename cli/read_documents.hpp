// Reads what --text and --tokens name.
#pragma once

#include <vector>

#include "cli/input.hpp"
#include "cli/named_model.hpp"

namespace headgauge::cli {

// The documents whose ids a process holds.
enum class Hold {
  all,
  own,  // a shard holds the first 64 MiB, and reads other documents again when it measures them
};

// All documents, of no more than `most` tokens each where that suffices (0: all tokens). Where one
// cannot be read, throws as read_document() and read_ids() do for the first of them.
std::vector<Document> read_documents(const InputOptions& options, const NamedModel& model,
                                     std::size_t most, Hold hold);

}  // namespace headgauge::cli
