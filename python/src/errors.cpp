// Translates errors of the core to exceptions of headgauge.errors.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <exception>
#include <map>
#include <new>
#include <typeinfo>

#include "bindings.hpp"
#include "headgauge/base.hpp"
#include "headgauge/session.hpp"

namespace headgauge::python {
namespace {

const char* class_of(ErrorKind kind) {
  static const std::map<ErrorKind, const char*> names = {
      {ErrorKind::usage, "UsageError"},
      {ErrorKind::bad_input, "BadInputError"},
      {ErrorKind::unsupported, "UnsupportedError"},
      {ErrorKind::resource, "ResourceError"},
      {ErrorKind::interrupted, "InterruptedError"}};
  return names.at(kind);
}

void raise(const char* name, const std::string& message) {
  const nb::object type = nb::module_::import_("headgauge.errors").attr(name);
  PyErr_SetString(type.ptr(), message.c_str());
}

void translate(const std::exception_ptr& exception, void* /*payload*/) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    raise(class_of(error.kind()), python_names(with_option_names(error.what())));
  } catch (const std::bad_cast&) {
    PyErr_SetString(PyExc_TypeError, "an object of your own gives a value of another type");
  } catch (const std::bad_alloc&) {
    raise("ResourceError", fault("memory", "enough for the model, the texts and the results",
                                 "too little", "use smaller ones, or allow more memory"));
  }
}

}  // namespace

std::string python_names(std::string text) {
  for (std::size_t at = text.find("--"); at != text.npos; at = text.find("--", at)) {
    std::size_t end = at + 2;
    const auto is_name = [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; };
    while (end < text.size() && is_name(text[end])) ++end;
    const bool help = text.compare(at, end - at, "--help") == 0;
    const auto upto = text.begin() + static_cast<Index>(at);
    const bool in_command = std::count(text.begin(), upto, '`') % 2 == 1;
    const bool option = !help && !in_command && end > at + 2 &&
                        (at == 0 || text[at - 1] == ' ' || text[at - 1] == '(');
    if (option) {
      std::replace(text.begin() + static_cast<Index>(at) + 2,
                   text.begin() + static_cast<Index>(end), '-', '_');
      text.erase(at, 2);
    } else {
      at = end;
    }
  }
  return text;
}

void bind_errors(nb::module_&) {
  nb::register_exception_translator(translate);
}

}  // namespace headgauge::python
