// The texts of a case, and their tokens.
#pragma once

#include <optional>
#include <string>

#include "headgauge/tasks.hpp"

namespace headgauge {

struct CaseTexts {
  std::string prompt, answer;
  std::optional<std::string> control = {};
};

// Returns the texts of the tokens, without the special tokens that the tokenizer puts before a
// text.
CaseTexts texts_of(const TaskCase& one, const Tokenizer& tokenizer);

// Tokenizes the prompt with its answer as one text, and the control with the answer as another.
// Sets prompt, answer and control, and the distance if the prompt has the source. Returns false if
// the tokens of one of the two texts do not begin with those of its prompt, or if the answer has
// other tokens behind the control.
bool tokenize_case(const CaseTexts& texts, const Tokenizer& tokenizer, TaskCase& one);

}  // namespace headgauge
