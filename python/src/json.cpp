// Converts JSON between C++ and Python, as text.
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "headgauge/base.hpp"
#include "headgauge/text.hpp"

namespace headgauge::python {

nb::object to_python(const nlohmann::ordered_json& json) {
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  return nb::module_::import_("json").attr("loads")(json.dump(-1, ' ', false, kReplace));
}

nlohmann::ordered_json from_python(const nb::handle& object, const std::string& where) {
  try {
    const nb::object text = nb::module_::import_("json").attr("dumps")(object);
    return nlohmann::ordered_json::parse(nb::cast<std::string>(text));
  } catch (const nlohmann::json::exception&) {
  } catch (const nb::python_error&) {
  }
  const auto shown = nb::steal<nb::str>(PyObject_ASCII(object.ptr()));
  throw UsageError(fault(where, "finite numbers, Unicode texts or lists of these",
                         in_quotes(shown.c_str(), 80), "give another value"));
}

}  // namespace headgauge::python
