// Commands as functions: the options, their checks and what they do are those of the command line.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "cli/host.hpp"
#include "headgauge/base.hpp"

namespace headgauge::python {
namespace {

// Shows the progress to a Python callable, and asks Python for signals meanwhile.
class PythonProgress final : public Progress {
 public:
  PythonProgress(nb::handle callable, std::stop_source& stop) : callable_(callable), stop_(stop) {}

  void update(std::string_view what, double done, double total) override {
    const nb::gil_scoped_acquire acquired;
    if (failed_) return;
    if (!callable_.is_none()) {
      try {
        callable_(nb::str(what.data(), what.size()), done, total);
      } catch (nb::python_error& error) {
        fail(std::move(error));
        return;
      }
    }
    if (PyErr_CheckSignals() != 0) fail(nb::python_error());
  }

  // Throws what Python raised meanwhile.
  void rethrow() {
    if (failed_) throw std::move(*std::exchange(failed_, std::nullopt));
  }

 private:
  void fail(nb::python_error error) {
    failed_.emplace(std::move(error));
    stop_.request_stop();
  }

  nb::handle callable_;
  std::stop_source& stop_;
  std::optional<nb::python_error> failed_;
};

nb::tuple run(const std::vector<std::string>& arguments, nb::object source, nb::object model,
              std::map<std::string, std::string> texts,
              std::map<std::string, std::vector<int>> tokens, nb::object progress) {
  std::stop_source stop;
  PythonProgress shown(progress, stop);
  cli::Host host;
  host.stop = stop.get_token();
  host.progress = &shown;
  host.texts = std::move(texts);
  host.tokens = std::move(tokens);
  if (!source.is_none()) host.source = make_python_source(std::move(source));
  if (!model.is_none()) host.model = make_python_model(std::move(model));
  int code = 0;
  try {
    const nb::gil_scoped_release released;
    code = cli::run_command(arguments, host);
  } catch (const Error&) {
    shown.rethrow();
    throw;
  }
  shown.rethrow();
  nb::object results = nb::none();
  if (host.results) results = nb::cast(std::move(*host.results));
  return nb::make_tuple(code, results, host.printed);
}

}  // namespace

void bind_command(nb::module_& module) {
  module.def("run", run, nb::arg("arguments"), nb::arg("source").none(), nb::arg("model").none(),
             nb::arg("texts"), nb::arg("tokens"), nb::arg("progress").none());
}

}  // namespace headgauge::python
