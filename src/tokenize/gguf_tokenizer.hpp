#pragma once

#include <string>

#include "checkpoint/gguf.hpp"

namespace headgauge {

// Returns the tokenizer.json for the metadata of a GGUF file, as the tokenizers library reads it.
// Throws BadInputError if something is missing or inconsistent; UnsupportedError names a kind or a
// pre-tokenizer that headgauge does not know.
std::string gguf_tokenizer_json(const Gguf& file);

// Returns "BPE (GGUF, pre-tokenizer smollm)" or "none"; does not check for faults.
std::string gguf_tokenizer_kind(const Gguf& file);

}  // namespace headgauge
