// Prints the token ids of a text, for tests that hand the same ids to another program.
//
//   print_token_ids FOLDER TEXT
#include <cstdio>

#include "headgauge/tokenize.hpp"

int main(int argc, char** argv) try {
  if (argc != 3) throw headgauge::UsageError("usage: print_token_ids FOLDER TEXT");
  const auto tokenizer = headgauge::Tokenizer::load(argv[1]);
  for (const int id : tokenizer.encode(headgauge::read_text_file(argv[2]))) {
    std::printf("%d\n", id);
  }
} catch (const headgauge::Error& error) {
  std::fprintf(stderr, "print_token_ids: %s\n", error.what());
  return error.exit_code();
}
