#include <malloc.h>
#include <sys/resource.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/commands.hpp"
#include "cli/last_words.hpp"
#include "cli/messages.hpp"
#include "cli/options.hpp"
#include "cli/print.hpp"
#include "cli/terminal.hpp"
#include "cli/usage.hpp"
#include "headgauge/base.hpp"
#include "headgauge/memory.hpp"
#include "headgauge/text.hpp"

namespace {

int fail(int code, const std::string& message) {
  std::fprintf(stderr, "headgauge: %s\n", headgauge::legible(message).c_str());
  return code;
}

// CLI11's own, with one empty line between the groups of options where it has two.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
    for (auto at = help.find("\n\n\n"); at != help.npos; at = help.find("\n\n\n", at)) {
      help.erase(at, 1);
    }
    return help;
  }
};

// Each thread's own heap sets 64 MB of addresses aside, whatever it holds: nothing where they are
// free, too much where the address space is limited.
void share_one_heap_under_a_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    mallopt(M_ARENA_MAX, 1);
  }
}

// What --help of every command looks like.
void describe(CLI::App& app) {
  app.name("headgauge");
  app.set_version_flag("--version", "headgauge " HEADGAUGE_VERSION, "Print the version");
  app.set_help_flag("-h,--help", "Print this help");
  app.formatter(std::make_shared<HelpFormatter>());
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("OPTIONS", "options");
  app.get_formatter()->label("Positionals", "Arguments");
  app.get_formatter()->column_width(26);
  app.group("Commands");
  app.require_subcommand(1);
  app.footer(
      "Example: headgauge scan gpt2 --text book.txt --out results\n"
      "Each command has its own --help.");
}

void add_commands(CLI::App& app, headgauge::cli::Action& action) {
  headgauge::cli::add_scan(app, action);
  headgauge::cli::add_compare(app, action);
  headgauge::cli::add_converge(app, action);
  headgauge::cli::add_report(app, action);
  headgauge::cli::add_diff(app, action);
  headgauge::cli::add_validate(app, action);
  headgauge::cli::add_plan(app, action);
  headgauge::cli::add_reproduce(app, action);
  headgauge::cli::add_measures(app, action);
  headgauge::cli::add_normalizers(app, action);
  headgauge::cli::add_patterns(app, action);
  headgauge::cli::add_inspect(app, action);
  headgauge::cli::add_phantom(app, action);
  headgauge::cli::add_options_list(app, action);
}

}  // namespace

int main(int argc, char** argv) {
  using headgauge::ErrorKind;
  headgauge::cli::hold_streams();
  headgauge::cli::say_last_words();
  share_one_heap_under_a_limit();
  try {
    CLI::App app{"Measures what the attention heads of a transformer can and cannot do."};
    describe(app);
    headgauge::cli::Action action;
    add_commands(app, action);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() != 0) {
        return fail(static_cast<int>(ErrorKind::usage), headgauge::cli::usage_message(app, error));
      }
      app.exit(error);  // prints what --help and --version ask for
      std::cout.flush();
      action = [] { return 0; };
    }
    const int code = action();
    headgauge::cli::flush_text();
    return code;
  } catch (const headgauge::Error& error) {
    return fail(error.exit_code(), headgauge::cli::for_command_line(error.what()));
  } catch (const std::bad_alloc&) {
    return fail(static_cast<int>(ErrorKind::resource),
                headgauge::fault("memory", "enough for the model, the texts and the files",
                                 headgauge::format_bytes(headgauge::available_memory()) + " left",
                                 "use smaller ones, or allow more memory"));
  } catch (const std::exception& error) {
    const auto* system = dynamic_cast<const std::system_error*>(&error);
    // The thread library has a message, but no code.
    const bool no_thread = std::string_view(error.what()).starts_with("pthread_create has failed");
    if (no_thread ||
        (system != nullptr && system->code() == std::errc::resource_unavailable_try_again)) {
      return fail(static_cast<int>(ErrorKind::resource),
                  headgauge::fault("threads", "one more thread",
                                   no_thread ? "none to be had" : system->code().message(),
                                   "use fewer --threads, or allow more memory"));
    }
    return fail(70, std::string("internal error: ") + error.what());
  }
}
