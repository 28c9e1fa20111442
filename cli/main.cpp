#include <malloc.h>
#include <sys/resource.h>

#include <cstdio>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/last_words.hpp"
#include "cli/print.hpp"
#include "cli/terminal.hpp"
#include "headgauge/base.hpp"
#include "headgauge/memory.hpp"
#include "headgauge/session.hpp"
#include "headgauge/text.hpp"

namespace {

int fail(int code, const std::string& message) {
  std::fprintf(stderr, "headgauge: %s\n", headgauge::legible(message).c_str());
  return code;
}

// Each thread's heap reserves 64 MB of address space, used or not. That is free unless the address
// space is limited.
void share_one_heap_under_a_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    mallopt(M_ARENA_MAX, 1);
  }
}

// Returns the exit code, also for errors.
int run(const std::vector<std::string>& arguments) {
  using headgauge::ErrorKind;
  try {
    const int code = headgauge::cli::run_command(arguments);
    headgauge::cli::flush_text();
    return code;
  } catch (const headgauge::Error& error) {
    return fail(error.exit_code(), headgauge::with_option_names(error.what()));
  } catch (const std::bad_alloc&) {
    return fail(static_cast<int>(ErrorKind::resource),
                headgauge::fault("memory", "enough for the model, the texts and the files",
                                 headgauge::format_bytes(headgauge::available_memory()) + " left",
                                 "use smaller ones, or allow more memory"));
  } catch (const std::exception& error) {
    const auto* system = dynamic_cast<const std::system_error*>(&error);
    // The thread library's error has a message but no code.
    const bool no_thread = std::string_view(error.what()).starts_with("pthread_create has failed");
    if (no_thread ||
        (system != nullptr && system->code() == std::errc::resource_unavailable_try_again)) {
      return fail(static_cast<int>(ErrorKind::resource),
                  headgauge::fault("threads", "one more thread",
                                   no_thread ? "none available" : system->code().message(),
                                   "use fewer --threads, or allow more memory"));
    }
    return fail(70, std::string("internal error: ") + error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  headgauge::cli::hold_streams();
  headgauge::cli::say_last_words();
  share_one_heap_under_a_limit();
  return run({argv + 1, argv + argc});
}
