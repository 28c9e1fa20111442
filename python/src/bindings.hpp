// What the parts of the Python module give each other.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "headgauge/heads.hpp"
#include "headgauge/scan.hpp"

namespace headgauge {
class CustomModel;
}

namespace headgauge::python {

namespace nb = nanobind;

// A Python object whose methods any thread may call.
class Held {
 public:
  explicit Held(nb::object object) : object_(std::move(object)) {}
  ~Held() {
    const nb::gil_scoped_acquire acquired;
    object_.reset();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  auto attr(const char* name) const { return object_.attr(name); }
  const nb::object& get() const { return object_; }

 private:
  nb::object object_;
};

// What json.loads() makes of it.
nb::object to_python(const nlohmann::ordered_json& json);
// Converts an object to JSON. Throws UsageError, which names `where`, for NaN, infinity, half of a
// surrogate pair and objects that JSON does not have.
nlohmann::ordered_json from_python(const nb::handle& object, const std::string& where);

// A message of the command line as Python has it: "--top-n" is top_n.
std::string python_names(std::string text);

// A source whose layers a Python object gives, and a model that opens such; see
// headgauge/_source.py for what they must have.
std::unique_ptr<HeadSource> make_python_source(nb::object object);
std::shared_ptr<CustomModel> make_python_model(nb::object object);

// As Python has them; None for null.
nb::object rule_object(std::shared_ptr<const Normalizer> normalizer);
nb::object pattern_object(std::shared_ptr<const Pattern> pattern);

// What a caller gives as Python objects (headgauge/_own.py).
MeasureMaker measure_maker(nb::object object);
std::shared_ptr<const Normalizer> own_normalizer(nb::handle object);
std::shared_ptr<const Pattern> own_pattern(nb::handle object);

void bind_errors(nb::module_& module);
void bind_results(nb::module_& module);
void bind_session(nb::module_& module);
void bind_rule(nb::module_& module);
void bind_pattern(nb::module_& module);
void bind_tasks(nb::module_& module);

}  // namespace headgauge::python
