// The tokenizer of the demo model.
#pragma once

#include "headgauge/tokenize.hpp"
#include "test_data.hpp"

namespace headgauge {

inline constexpr Index kDemoVocabulary = 4096;

inline const Tokenizer& demo_tokenizer() {
  static const Tokenizer demo = Tokenizer::load(testing::source_path("demo/model"));
  return demo;
}

}  // namespace headgauge
