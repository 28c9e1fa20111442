#include "cli/input.hpp"

#include "cli/options.hpp"

namespace headgauge::cli {

std::vector<Option> options_of(InputOptions& o) {
  return {
      {.member = "InputOptions::texts",
       .value = &o.texts,
       .form = "FILE...",
       .group = option_group::input,
       .help = "UTF-8 texts; each file is a document",
       .details = "A text goes through the model's own tokenizer, with the tokens that it puts "
                  "around a text. A file or a pipe of at most 1.1 GB. `@LIST` stands for the "
                  "lines of a file: more names than a command line takes",
       .expects = "a file",
       .named = "text"},
      {.member = "InputOptions::tokens",
       .value = &o.tokens,
       .form = "FILE...",
       .group = option_group::input,
       .help = "Files of whitespace-separated token ids, in place of text",
       .details = "For any model; nothing is put around them. A file or a pipe, as for `--text`",
       .expects = "a file",
       .excludes = "text"}};
}

void InputOptions::add_model(CLI::App& command) {
  command
      .add_option("MODEL", model,
                  "A checkpoint folder, a .safetensors file beside its config.json, a\n"
                  ".gguf file, a name in the Hugging Face cache, or a dump file")
      ->option_text(" ")
      ->required();
}

void InputOptions::add_to(CLI::App& command) {
  add_model(command);
  add_options(command, options_of(*this));
}

}  // namespace headgauge::cli
