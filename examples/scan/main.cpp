// Measures every head of a model on a text, and prints how many keys each attends to.
//
//   scan_example MODEL TEXT
#include <cstdio>
#include <headgauge/headgauge.hpp>

int main(int argc, char** argv) try {
  if (argc != 3) throw headgauge::UsageError("usage: scan_example MODEL TEXT");
  const auto model = headgauge::resolve_model(argv[1]);
  const auto tokenizer = headgauge::Tokenizer::load(model.tokenizer());
  const auto text = headgauge::read_document(argv[2], tokenizer, true);
  const auto source = headgauge::make_model_source(model, {text}, {});

  headgauge::ScanOptions options;
  options.lengths = {32};
  options.measures = {"weights"};
  const headgauge::Results results = headgauge::scan(*source, options);

  for (int layer = 0; layer < source->info().layers; ++layer) {
    for (int head = 0; head < source->info().heads; ++head) {
      const double keys = results.at("effective_tokens", {layer, head, 0});
      std::printf("head %d.%d attends to %.1f of 32 keys\n", layer, head, keys);
    }
  }
} catch (const headgauge::Error& error) {
  std::fprintf(stderr, "scan_example: %s\n", error.what());
  return error.exit_code();
}
