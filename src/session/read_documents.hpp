// Reads the texts of a run.
#pragma once

#include <vector>

#include "session/input.hpp"

namespace headgauge {

// The documents whose ids a process holds.
enum class Hold {
  all,
  own,  // a shard holds the first 64 MiB, and reads other documents again when it measures them
};

// Reads all documents, each of no more than `most` tokens if that suffices (0: all tokens). Throws
// as read_document() and read_ids() do for the first of them that cannot be read.
std::vector<Document> read_documents(const Input& input, std::size_t most, Hold hold);

}  // namespace headgauge
