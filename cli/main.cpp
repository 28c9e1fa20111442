#include <cstdio>
#include <new>
#include <string>

#include "cli/commands.hpp"
#include "headgauge/base.hpp"

namespace {

int fail(int code, const std::string& message) {
  std::fprintf(stderr, "headgauge: %s\n", message.c_str());
  return code;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

int main(int argc, char** argv) {
  using headgauge::ErrorKind;
  CLI::App app{"Measures what the attention heads of a transformer can and cannot do."};
  app.name("headgauge");
  app.set_version_flag("--version", "headgauge " HEADGAUGE_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  app.footer(
      "Example: headgauge scan gpt2 --text book.txt --out results\n"
      "Each command has its own --help.");
  headgauge::cli::Action action;
  headgauge::cli::add_scan(app, action);
  headgauge::cli::add_measures(app, action);
  headgauge::cli::add_normalizers(app, action);
  headgauge::cli::add_inspect(app, action);
  headgauge::cli::add_phantom(app, action);
  try {
    app.parse(argc, argv);
    return action();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return fail(static_cast<int>(ErrorKind::usage),
                first_line(error.what()) + "; see headgauge --help");
  } catch (const headgauge::Error& error) {
    return fail(error.exit_code(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(static_cast<int>(ErrorKind::resource),
                "out of memory; use shorter --lengths, fewer --measures, or --queries");
  } catch (const std::exception& error) {
    return fail(70, std::string("internal error: ") + error.what());
  }
}
