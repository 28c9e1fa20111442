// The body of every fuzz target; HEADGAUGE_FUZZ_READER names the function of readers.hpp.
#include <cstdint>
#include <cstdlib>

#include "readers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    headgauge::fuzzing::HEADGAUGE_FUZZ_READER(std::as_bytes(std::span(data, size)));
  } catch (const headgauge::Error& error) {
    // Refused, as it should be; but in one line, and with something to say.
    const std::string_view message = error.what();
    if (message.empty() || message.find('\n') != message.npos) std::abort();
  }
  return 0;
}
