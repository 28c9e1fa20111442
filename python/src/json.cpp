// Converts JSON between C++ and Python, as text.
#include <nanobind/stl/string.h>

#include "bindings.hpp"

namespace headgauge::python {

nb::object to_python(const nlohmann::ordered_json& json) {
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  return nb::module_::import_("json").attr("loads")(json.dump(-1, ' ', false, kReplace));
}

nlohmann::ordered_json from_python(const nb::handle& object) {
  const nb::object text = nb::module_::import_("json").attr("dumps")(object);
  return nlohmann::ordered_json::parse(nb::cast<std::string>(text));
}

}  // namespace headgauge::python
