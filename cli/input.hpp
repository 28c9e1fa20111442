// MODEL, --text and --tokens, which all commands on a model and a text have.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "headgauge/options.hpp"
#include "headgauge/session.hpp"

namespace headgauge::cli {

struct InputOptions {
  std::string model;
  std::vector<std::string> texts;
  std::vector<std::string> tokens;

  // Adds MODEL.
  void add_model(CLI::App& command);
  void add_to(CLI::App& command);

  bool are_ids() const { return texts.empty() && !tokens.empty(); }
  Texts files() const { return are_ids() ? token_files(tokens) : text_files(texts); }
  // Gives other texts the same kind, text or token ids.
  void set_kind(Texts& others) const {
    for (Text& text : others) text.is_ids = are_ids();
  }
};

std::vector<Option> options_of(InputOptions& options);

}  // namespace headgauge::cli
