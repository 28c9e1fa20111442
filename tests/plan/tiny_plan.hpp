// A tiny model of two layers and four heads, and texts for it.
#pragma once

#include "small_models.hpp"

#include <memory>
#include <vector>

namespace headgauge::testing {

inline std::unique_ptr<HeadSource> tiny_model(std::vector<Document> documents, int threads = 1) {
  return open_model(std::move(documents), {.threads = threads});
}

// Documents of 96 tokens, none like that of another `seed`.
inline std::unique_ptr<HeadSource> tiny_source(int documents, int seed = 0, int threads = 1) {
  std::vector<Document> texts;
  for (int d = 0; d < documents; ++d) {
    Document& text = texts.emplace_back();
    text.name = "text " + std::to_string(seed) + "." + std::to_string(d);
    text.tokens = made_ids(96, 3 + d, 7 * seed + d);
  }
  return tiny_model(std::move(texts), threads);
}

}  // namespace headgauge::testing
