#include "report/engine.hpp"

#include <cstdint>
#include <exception>

#include "base/memory.hpp"
#include "headgauge/base.hpp"
#include "headgauge/text.hpp"

// The C ABI of the Rust crate in report/ffi, where each function is documented.
extern "C" {
using HgLoad = bool (*)(void* context, const std::uint8_t* name, std::size_t name_size,
                        const std::uint8_t** text, std::size_t* text_size);
bool hg_figures_draw(const std::uint8_t* script, std::size_t script_size, const std::uint8_t* data,
                     std::size_t data_size, HgLoad load, void* context, std::uint8_t** result,
                     std::size_t* result_size);
void hg_figures_free(std::uint8_t* text, std::size_t size);
void hg_figures_out_of_memory_handler(void (*handler)(std::size_t bytes));
}

namespace headgauge::report {
namespace {

constexpr std::size_t kLongestReason = 300;
// The engine's messages when an allocation fails or its own limit is reached (report/ffi).
constexpr const char* kOutOfMemory = "out of memory";
// When very little memory is left, the engine's parser reports a syntax error for text it could not
// store.
constexpr std::size_t kTooLittle = std::size_t{16} << 20;

struct Loader {
  const std::function<std::string(std::string_view)>& load;
  std::string text;           // the last requested text
  std::exception_ptr failed;  // exceptions must not cross the engine

  static bool give(void* context, const std::uint8_t* name, std::size_t name_size,
                   const std::uint8_t** text, std::size_t* text_size) {
    auto& loader = *static_cast<Loader*>(context);
    try {
      loader.text = loader.load({reinterpret_cast<const char*>(name), name_size});
    } catch (...) {
      loader.failed = std::current_exception();
      return false;
    }
    *text = reinterpret_cast<const std::uint8_t*>(loader.text.data());
    *text_size = loader.text.size();
    return !loader.text.empty();
  }
};

const std::uint8_t* octets(std::string_view bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

}  // namespace

std::string run_figures(std::string_view script, std::string_view data,
                        const std::function<std::string(std::string_view)>& load) {
  Loader loader{load, {}, {}};
  std::uint8_t* bytes = nullptr;
  std::size_t size = 0;
  hg_figures_out_of_memory_handler([](std::size_t asked) { out_of_memory("figures", asked); });
  const bool good = hg_figures_draw(octets(script), script.size(), octets(data), data.size(),
                                    Loader::give, &loader, &bytes, &size);
  std::string text(reinterpret_cast<const char*>(bytes), size);
  hg_figures_free(bytes, size);
  if (loader.failed) std::rethrow_exception(loader.failed);
  if (!good) {
    // The stack trace follows the message, one line per frame.
    const std::string reason = text.substr(0, text.find('\n'));
    if (reason.find(kOutOfMemory) != reason.npos || available_memory() < kTooLittle) {
      throw ResourceError(fault("figures", "enough memory to draw them",
                                format_bytes(available_memory()) + " left to the system",
                                "draw results of fewer heads, or allow more memory"));
    }
    throw BadInputError(fault("figures", "results that can be drawn",
                              in_quotes(reason, kLongestReason),
                              "measure again with this headgauge, or leave the figures out"));
  }
  return text;
}

}  // namespace headgauge::report
