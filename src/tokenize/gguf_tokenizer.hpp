#pragma once

#include <string>

#include "checkpoint/gguf.hpp"

namespace headgauge {

// The tokenizer.json that the metadata of a GGUF file come from, as the tokenizers library reads
// it. BadInputError where something is missing or does not fit; UnsupportedError names a kind or a
// pre-tokenizer that headgauge does not know.
std::string gguf_tokenizer_json(const Gguf& file);

// "BPE (GGUF, pre-tokenizer smollm)", "none"; does not look for faults.
std::string gguf_tokenizer_kind(const Gguf& file);

}  // namespace headgauge
