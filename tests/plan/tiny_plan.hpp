// A tiny model of two layers and four heads, and texts for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headgauge/model.hpp"
#include "test_data.hpp"

namespace headgauge::testing {

inline std::unique_ptr<HeadSource> tiny_model(std::vector<Document> documents, int threads = 1) {
  return make_model_source(resolve_model(source_path("tests/golden/gpt2/plain")),
                           std::move(documents), {XSource::embedding, threads});
}

// Documents of 96 tokens, none like that of another `seed`.
inline std::unique_ptr<HeadSource> tiny_source(int documents, int seed = 0, int threads = 1) {
  std::vector<Document> texts;
  for (int d = 0; d < documents; ++d) {
    Document& text = texts.emplace_back();
    text.name = "text " + std::to_string(seed) + "." + std::to_string(d);
    for (int i = 0; i < 96; ++i) text.tokens.push_back((i * i + (3 + d) * i + 7 * seed + d) % 41);
  }
  return tiny_model(std::move(texts), threads);
}

}  // namespace headgauge::testing
