#include "cli/last_words.hpp"

#include <cxxabi.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <typeinfo>

#include "cli/terminal.hpp"
#include "headgauge/faults.hpp"
#include "headgauge/memory.hpp"

namespace headgauge::cli {
namespace {

std::atomic<bool> error_is_terminal = false;
std::atomic_flag ending;

void on_bus_error(int, siginfo_t* info, void*) {
  const char* const message = lost_bytes_message(info->si_addr);
  if (message != nullptr) end_at_once(ErrorKind::bad_input, message);
  std::signal(SIGBUS, SIG_DFL);  // the read is repeated and then ends the process
}

// If there is no memory for this line either, on_terminate() prints one.
void on_out_of_memory(const char* what, std::size_t bytes) noexcept {
  char line[200];
  const bool tokenizer = std::strcmp(what, "tokenizer") == 0;
  const auto end = fmt::format_to_n(
      line, sizeof line - 1,
      "{}: expected {} more of memory, found less left; {}, or allow more memory", what,
      format_bytes(bytes),
      tokenizer ? "use a smaller text or another tokenizer file" : "draw results of fewer heads");
  *end.out = '\0';
  end_at_once(ErrorKind::resource, line);
}

std::terminate_handler end_as_before = nullptr;

// Handles a failed allocation where no exception can propagate: in a noexcept function, in another
// thread, before main() or while main() builds its last message. Nothing here allocates.
void on_terminate() {
  const std::type_info* const type = abi::__cxa_current_exception_type();
  if (type != nullptr && *type == typeid(std::bad_alloc)) {
    end_at_once(
        ErrorKind::resource,
        "memory: expected enough for the model, the texts and the files, found none left; use "
        "smaller ones, or allow more memory");
  }
  end_as_before();
}

struct Terminator {
  Terminator() { end_as_before = std::set_terminate(on_terminate); }
};
// Runs before the initializers of other files, which allocate.
[[gnu::init_priority(101)]] const Terminator terminator;

}  // namespace

void end_at_once(ErrorKind kind, const char* message) noexcept {
  while (ending.test_and_set()) ::pause();
  const std::string_view parts[] = {error_is_terminal ? "\r\x1b[K" : "", "headgauge: ", message,
                                    "\n"};
  iovec lines[std::size(parts)];
  for (std::size_t i = 0; i < std::size(parts); ++i) {
    lines[i] = {const_cast<char*>(parts[i].data()), parts[i].size()};
  }
  static_cast<void>(!::writev(STDERR_FILENO, lines, std::size(lines)));
  ::_exit(static_cast<int>(kind));
}

void say_last_words() {
  error_is_terminal = takes_escapes(STDERR_FILENO);
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);
  set_out_of_memory_handler(on_out_of_memory);
}

}  // namespace headgauge::cli
