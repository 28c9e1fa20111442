// A model's tokenizer, and the cases of a task file.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "headgauge/tasks.hpp"
#include "headgauge/tokenize.hpp"

namespace headgauge::python {
namespace {

// Task, prompt and answer.
using Case = std::tuple<std::string, std::vector<int>, std::vector<int>>;

// `tokenizer`: null for a file of token ids.
std::vector<Case> task_cases(const std::string& path, const Tokenizer* tokenizer, Index vocabulary,
                             Index most) {
  const nb::gil_scoped_release released;
  std::vector<Case> cases;
  read_task_cases(
      path, {.tokenizer = tokenizer, .vocabulary = vocabulary, .most = most}, [&](TaskCase one) {
        cases.emplace_back(std::move(one.task), std::move(one.prompt), std::move(one.answer));
      });
  return cases;
}

std::vector<int> encoded(const Tokenizer& tokenizer, const std::string& text) {
  return tokenizer.encode(text);
}

}  // namespace

void bind_tasks(nb::module_& module) {
  nb::class_<Tokenizer>(module, "Tokenizer")
      .def_static("load", nb::overload_cast<const std::string&>(&Tokenizer::load),
                  nb::arg("folder"))
      .def("encode", encoded, nb::arg("text"))
      .def_prop_ro("notice", &Tokenizer::notice);
  module.def("task_cases", task_cases, nb::arg("path"), nb::arg("tokenizer").none(),
             nb::arg("vocabulary"), nb::arg("most"));
}

}  // namespace headgauge::python
