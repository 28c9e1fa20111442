#include "cli/input.hpp"

#include "cli/options.hpp"

namespace headgauge::cli {

std::vector<Option> options_of(InputOptions& o) {
  return {{.member = "InputOptions::texts",
           .value = &o.texts,
           .form = "FILE...",
           .group = option_group::input,
           .help = "UTF-8 texts; each file is a document",
           .details = "A text goes through the model's own tokenizer, with its special tokens. It "
                      "is a file or a pipe of at most 1.1 GB. `@LIST` is replaced by the lines of "
                      "a file, for more names than a command line takes",
           .expects = "a file",
           .named = "text"},
          {.member = "InputOptions::tokens",
           .value = &o.tokens,
           .form = "FILE...",
           .group = option_group::input,
           .help = "Files of whitespace-separated token ids, instead of text",
           .details = "Any model takes them; no special tokens are added. Each is a file or a "
                      "pipe, as for `--text`",
           .expects = "a file",
           .excludes = "text"}};
}

void InputOptions::add_model(CLI::App& command) {
  command
      .add_option("MODEL", model,
                  "A checkpoint folder, a .safetensors file next to its config.json, a\n.gguf "
                  "file, a name in the Hugging Face cache, or a dump file")
      ->option_text(" ")
      ->required();
}

void InputOptions::add_to(CLI::App& command) {
  add_model(command);
  add_options(command, options_of(*this));
}

}  // namespace headgauge::cli
