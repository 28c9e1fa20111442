// Reads the texts of a run.
#pragma once

#include <vector>

#include "session/input.hpp"

namespace headgauge {

// The documents whose ids a process keeps in memory.
enum class Hold {
  all,
  own,  // a shard keeps the first 64 MiB, and reads other documents again when it measures them
};

// Reads all documents. Reads at most `most` tokens of each if that suffices (0: all tokens). Throws
// as read_document() and read_ids() do for the first text that cannot be read.
std::vector<Document> read_documents(const Input& input, std::size_t most, Hold hold);

}  // namespace headgauge
