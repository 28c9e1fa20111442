// Reads what --text and --tokens name. Of a command that several ranks run, each rank reads its
// part of the files, and tells the others.
#pragma once

#include <vector>

#include "cli/input.hpp"
#include "cli/named_model.hpp"

namespace headgauge::cli {

// Of several ranks, the ids of which documents each holds.
enum class Hold {
  all,
  own,  // that it measures; of others they are read again where they are asked for
};

// All documents, of no more than `most` tokens each where that suffices (0: all tokens). Where one
// cannot be read, throws as read_document() and read_ids() do for the first of them.
std::vector<Document> read_documents(const InputOptions& options, const NamedModel& model,
                                     std::size_t most, Hold hold);

}  // namespace headgauge::cli
