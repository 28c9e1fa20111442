// The module headgauge._core.
#include "bindings.hpp"

NB_MODULE(_core, module) {
  // A model that is never restored keeps a rule until the process ends.
  nanobind::set_leak_warnings(false);
  module.doc() = "The C++ core of headgauge; use the package headgauge.";
  module.attr("__version__") = HEADGAUGE_VERSION;
  headgauge::python::bind_errors(module);
  headgauge::python::bind_results(module);
  headgauge::python::bind_session(module);
  headgauge::python::bind_rule(module);
  headgauge::python::bind_pattern(module);
  headgauge::python::bind_tasks(module);
}
