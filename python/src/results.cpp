// headgauge::Results for Python.
#include "headgauge/results.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "bindings.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/report.hpp"
#include "headgauge/results_folder.hpp"
#include "headgauge/view.hpp"

namespace headgauge::python {
namespace {

template <class T>
using Values = nb::ndarray<nb::numpy, const T>;

// Returns a view of a metric's numbers that keeps the results alive; None if there are none.
template <class T>
nb::object view(const std::vector<T>& values, const LabelledArray& array, nb::handle owner) {
  if (values.empty() && array.size() > 0) return nb::none();
  std::vector<std::size_t> shape;
  for (const Dimension& dim : array.dims()) shape.push_back(static_cast<std::size_t>(dim.size()));
  return nb::cast(Values<T>(values.data(), shape.size(), shape.data(), owner));
}

nb::dict metric(nb::handle self, const std::string& name) {
  const auto& results = nb::cast<const Results&>(self);
  const LabelledArray& array = results.require_metric(name);
  nb::dict fields;
  fields["dims"] = nb::cast(array.dim_names());
  fields["unit"] = array.unit;
  fields["values"] = view(array.values, array, self);
  for (const auto& [part, numbers, number] : kEstimateParts) {
    fields[part] = view(array.*numbers, array, self);
  }
  fields["rows"] = view(array.rows, array, self);
  fields["none"] = nb::cast(array.none);
  fields["identifier"] = array.identifier;
  fields["change_of"] = array.change_of;
  return fields;
}

nb::dict table(const Results& results) {
  const HeadsTable found = heads_table(results);
  nb::dict columns;
  for (const auto& [name, numbers] : found.columns) columns[name.c_str()] = nb::cast(numbers);
  nb::dict fields;
  fields["rows"] = nb::cast(found.row_names);
  fields["columns"] = columns;
  fields["left_out"] = nb::cast(found.left_out);
  return fields;
}

nb::dict coords(const Results& results) {
  nb::dict all;
  for (const Dimension& dim : results.coords) {
    std::visit([&](const auto& labels) { all[dim.name().c_str()] = nb::cast(labels); },
               dim.labels());
  }
  return all;
}

std::vector<std::string> names(const Results& results) {
  std::vector<std::string> all;
  for (const auto& [name, array] : results.metrics) all.push_back(name);
  return all;
}

std::vector<std::string> summary(const Results& results) {
  std::vector<std::string> lines;
  for (const SummaryLine& line : results.summary) lines.push_back(python_names(line.text));
  return lines;
}

std::vector<std::string> notices(const Results& results) {
  std::vector<std::string> lines;
  for (const std::string& line : results.notices) lines.push_back(python_names(line));
  return lines;
}

std::vector<std::pair<std::string, std::string>> figures(const Results& results) {
  std::vector<Drawing> drawings;
  {
    const nb::gil_scoped_release released;
    drawings = draw_figures(results);
  }
  std::vector<std::pair<std::string, std::string>> svgs;
  for (Drawing& drawing : drawings) {
    svgs.emplace_back(std::move(drawing.name), std::move(drawing.svg));
  }
  return svgs;
}

}  // namespace

void bind_results(nb::module_& module) {
  const nb::call_guard<nb::gil_scoped_release> released;
  nb::class_<Results>(module, "Results")
      .def_prop_ro("command", [](const Results& r) { return command_text(r.command); })
      .def_prop_ro("partial", [](const Results& r) { return r.partial; })
      .def("coords", coords)
      .def("names", names)
      .def("metric", metric)
      .def("table", table)
      .def("tables", [](const Results& r) { return view::to_json(view::tables(r)).dump(); })
      .def("summary", summary)
      .def("notices", notices)
      .def("figures", figures)
      .def("text", results_text, released)
      .def("save", write_results_folder, released)
      .def("report", write_report, released);
  module.def("metric_hint", &metric_hint);
  module.def("read_results", read_results, released);
  module.def("results_files", results_files);
  module.def("parse_results", parse_results, released);
}

}  // namespace headgauge::python
