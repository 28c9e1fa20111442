// Reads what --text and --tokens name. Of a command that several ranks run, each rank reads its
// part of the files, and tells the others.
#pragma once

#include <vector>

#include "cli/input.hpp"
#include "cli/named_model.hpp"

namespace headgauge::cli {

// The ids of which documents a process holds, where others measure some of them.
enum class Hold {
  all,
  own,  // Of ranks those that it measures, of shards the first 64 MiB; others are read again where
        // they are asked for.
};

// All documents, of no more than `most` tokens each where that suffices (0: all tokens). Where one
// cannot be read, throws as read_document() and read_ids() do for the first of them.
std::vector<Document> read_documents(const InputOptions& options, const NamedModel& model,
                                     std::size_t most, Hold hold);

}  // namespace headgauge::cli
