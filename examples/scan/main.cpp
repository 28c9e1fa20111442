// Measures every head of a model on a text, and prints how many keys each attends to. With a folder
// a run that is stopped continues there when it is started again.
//
//   scan_example MODEL TEXT [FOLDER]
#include <cstdio>
#include <headgauge/headgauge.hpp>

namespace hg = headgauge;

int main(int argc, char** argv) try {
  if (argc < 3 || argc > 4) throw hg::UsageError("usage: scan_example MODEL TEXT [FOLDER]");
  hg::Session session(hg::Model(argv[1]), hg::text_files({argv[2]}),
                      {.out = argc > 3 ? argv[3] : ""});
  const hg::Results results = session.scan({.options = {.lengths = {32}, .measures = {"weights"}}});

  for (hg::Index layer = 0; layer < results.coord_size("layer"); ++layer) {
    for (hg::Index head = 0; head < results.coord_size("head"); ++head) {
      const double keys = results.at(hg::metric::effective_tokens, {layer, head, 0});
      std::printf("head %td.%td attends to %.1f of 32 keys\n", layer, head, keys);
    }
  }
} catch (const hg::Error& error) {
  std::fprintf(stderr, "scan_example: %s\n", error.what());
  return error.exit_code();
}
