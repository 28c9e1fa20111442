// The body of every fuzz target: HEADGAUGE_FUZZ_READER names a function of HEADGAUGE_FUZZ_HEADER.
#include <cstdint>

#include HEADGAUGE_FUZZ_HEADER
#include "fuzz/contract.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headgauge::fuzzing;
  works_or_is_refused([&] { HEADGAUGE_FUZZ_READER(std::as_bytes(std::span(data, size))); });
  return 0;
}
