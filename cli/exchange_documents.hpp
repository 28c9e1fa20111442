// What the ranks of a run tell each other of the documents that each of them has read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/ranks.hpp"
#include "headgauge/model.hpp"

namespace headgauge::cli {

struct DocumentExchange {
  // The files of the documents: ranks of other files are named when their journals meet.
  std::vector<std::string> paths = {};
  // Reads one of them again.
  std::function<Document(std::size_t)> read = {};
  // Each rank holds the ids of the documents that it will measure, as far as their lengths say
  // which those are, and reads others again where it needs them. No: it holds all.
  bool holds_own_alone = false;
  std::size_t most = 0;  // tokens that are asked for of each; 0: all
  Index vocabulary = 0;
};

// Gives every rank what any of them has read. All of them call it.
void exchange_documents(const DocumentExchange& exchange, Ranks& ranks,
                        std::vector<std::optional<Document>>& documents);

}  // namespace headgauge::cli
