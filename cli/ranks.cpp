#include "cli/ranks.hpp"

namespace headgauge::cli {
namespace {

Ranks* the_ranks = nullptr;

}  // namespace

Ranks* ranks() {
  return the_ranks;
}

void set_ranks(Ranks* ranks) {
  the_ranks = ranks;
}

}  // namespace headgauge::cli
