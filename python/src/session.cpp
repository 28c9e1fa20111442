// Runs sessions, with options converted from Python objects by their declarations.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "headgauge/base.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/results_folder.hpp"
#include "headgauge/session.hpp"

namespace headgauge::python {
namespace {

// Reports progress to a Python callable, and lets Python handle signals meanwhile.
class PythonProgress final : public RunObserver {
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

  // Throws the exception that Python raised meanwhile.
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

// Sets the options from a dict of Python objects, by key.
template <class Request>
void fill(Request& request, const nb::dict& values) {
  for (const Option& option : options_of(request)) {
    const std::string key = option.key();
    if (!values.contains(key.c_str())) continue;
    const nb::object value = values[key.c_str()];
    if (Texts* const* const texts = std::get_if<Texts*>(&option.value)) {
      **texts = nb::cast<Texts>(value);
    } else {
      set_option(option, from_python(value, option.member));
    }
  }
}

// Returns the type of value that an option takes.
std::string type_of(const OptionValue& value) {
  constexpr std::array kTypes = {"bool",   "int",     "float", "int",   "str",   "ints",
                                 "floats", "strings", "int",   "float", "texts", "choice"};
  static_assert(kTypes.size() == std::variant_size_v<OptionValue>, "in the order of OptionValue");
  return kTypes[value.index()];
}

// Visits the objects of the caller's own that stand for the option `name`.
template <class Add>
void each_own(const nb::dict& own, const char* name, const Add& add) {
  if (!own.contains(name)) return;
  for (nb::handle object : nb::cast<nb::list>(own[name])) add(object);
}

// Adds the objects that the caller gives: lists by the name of the option.
void add_own_measures(ScanOptions& options, const nb::dict& own) {
  each_own(own, "measures",
           [&](nb::handle one) { options.own_measures.push_back(measure_maker(nb::borrow(one))); });
}
void add_own(ScanOptions& options, const nb::dict& own) {
  add_own_measures(options, own);
  each_own(own, "normalizer",
           [&](nb::handle one) { options.own_normalizer = own_normalizer(one); });
  each_own(own, "pattern", [&](nb::handle one) { options.own_pattern = own_pattern(one); });
}
void add_own(ScanRequest& request, const nb::dict& own) {
  add_own(request.options, own);
}
void add_own(ConvergeRequest& request, const nb::dict& own) {
  add_own(request.options.scan, own);
}
void add_own(CompareRequest& request, const nb::dict& own) {
  CompareOptions& options = request.options;
  add_own_measures(options.scan, own);
  each_own(own, "normalizer",
           [&](nb::handle one) { options.own_normalizers.push_back(own_normalizer(one)); });
  each_own(own, "pattern",
           [&](nb::handle one) { options.own_patterns.push_back(own_pattern(one)); });
}
template <class Request>
void add_own(const Request& /*request*/, const nb::dict& own) {
  if (own.size() == 0) return;
  throw UsageError("expected names of measures, normalizers and patterns, found objects");
}

// The settings of a run, and what it measures.
struct Call {
  nb::object model;  // a name, a model of headgauge/_source.py, or None
  nb::object heads;  // a source of headgauge/_source.py, or None
  Texts texts;
  std::string out;
  std::string shard;
  std::vector<std::string> shards;
  nb::object progress;
  nb::dict own = {};
  bool force = false;
};

Model model_of(const Call& call) {
  if (!call.heads.is_none()) {
    return Model(std::shared_ptr<HeadSource>(make_python_source(call.heads)));
  }
  if (call.model.is_none()) return {};
  if (nb::isinstance<nb::str>(call.model)) return Model(nb::cast<std::string>(call.model));
  return Model(make_python_model(call.model));
}

// Runs `work` in a session without the GIL; exceptions that Python raised meanwhile take
// precedence.
template <class Open, class Work>
Results in_session(const Call& call, const Open& open, const Work& work) {
  std::stop_source stop;
  PythonProgress shown(call.progress, stop);
  Run run{.out = call.out, .shards = call.shards, .observer = &shown, .stop = stop.get_token()};
  run.force = call.force;
  if (!call.shard.empty()) run.shard = parse_share(call.shard);
  Results results;
  try {
    const nb::gil_scoped_release released;
    Session session = open(run);
    results = work(session);
  } catch (const Error&) {
    shown.rethrow();
    throw;
  }
  shown.rethrow();
  if (results.partial) throw InterruptedError(interruption(results, run));
  return results;
}

std::function<Session(Run)> opener(const Call& call) {
  return [&call, model = model_of(call)](Run run) {
    return Session(model, call.texts, std::move(run));
  };
}

std::string help_of(const Option& option) {
  std::string help = option.help;
  const std::string groups = fmt::format("{}", fmt::join(measure_groups(), ", "));
  for (const auto& [word, text] :
       {std::pair<std::string, std::string>{"{}", option_text(option)}, {"{groups}", groups}}) {
    const std::size_t at = help.find(word);
    if (at != help.npos) help.replace(at, word.size(), text);
  }
  return help;
}

// Returns name, form and meaning of an option.
nlohmann::ordered_json described(const Option& option) {
  return {{"name", option.key()},      {"form", option.form}, {"help", help_of(option)},
          {"details", option.details}, {"none", option.none}, {"type", type_of(option.value)}};
}

template <class Request, class Method>
nb::object measured(const Call& call, Request request, Method method) {
  add_own(request, call.own);
  return nb::cast(
      in_session(call, opener(call), [&](Session& session) { return (session.*method)(request); }));
}

// Returns the results, and the plan in the format of plan.json.
nb::object measured(const Call& call, const PlanRequest& request,
                    PlanResults (Session::* /*method*/)(PlanRequest)) {
  add_own(request, call.own);
  std::string plan;
  Results results = in_session(call, opener(call), [&](Session& session) {
    PlanResults made = session.plan(request);
    plan = plan_text(made.plans.front().plan);
    return std::move(made.results);
  });
  return nb::make_tuple(nb::cast(std::move(results)), plan);
}

// Calls `visit` with an empty request of the experiment, and the method that measures it.
template <class Visit>
nb::object with_request(const std::string& experiment, const Visit& visit) {
  using Limits = Results (Session::*)(LimitsRequest);
  using Tokens = Results (Session::*)(TokensRequest);
  if (experiment == "scan") return visit(ScanRequest(), &Session::scan);
  if (experiment == "compare") return visit(CompareRequest(), &Session::compare);
  if (experiment == "converge") return visit(ConvergeRequest(), &Session::converge);
  if (experiment == "simulate") return visit(SyntheticOptions(), &Session::simulate);
  if (experiment == "validate") return visit(ValidateRequest(), &Session::validate);
  if (experiment == "plan") return visit(PlanRequest(), &Session::plan);
  if (experiment == "reproduce limits") return visit(LimitsRequest(), Limits(&Session::reproduce));
  if (experiment == "reproduce tokens") return visit(TokensRequest(), Tokens(&Session::reproduce));
  throw std::logic_error("no experiment " + experiment);
}

nb::object run(const std::string& experiment, const nb::dict& options, nb::object model,
               nb::object heads, Texts texts, std::string out, std::string shard,
               std::vector<std::string> shards, nb::object progress, nb::dict own, bool force) {
  Call call{std::move(model), std::move(heads),  std::move(texts),    std::move(out),
            std::move(shard), std::move(shards), std::move(progress), std::move(own)};
  call.force = force;
  return with_request(experiment, [&](auto request, auto method) {
    fill(request, options);
    return measured(call, std::move(request), method);
  });
}

nb::object merged(const std::vector<std::string>& folders, const std::string& out,
                  nb::object progress, bool force) {
  Call call{nb::none(), nb::none(), {}, out, "", {}, std::move(progress), {}, force};
  return nb::cast(in_session(
      call, [&](Run run) { return Session::of_shards(folders, std::move(run)); },
      [](Session& session) { return session.merged(); }));
}

// Returns the results, and a sentence for each limit that is exceeded.
std::pair<Results, std::vector<std::string>> difference(const std::vector<Results>& before,
                                                        const std::vector<Results>& after,
                                                        const std::string& old_name,
                                                        const std::string& new_name,
                                                        const nb::dict& options) {
  DiffRequest request;
  fill(request, options);
  request.options.old_file = old_name;
  request.options.new_file = new_name;
  DiffResults found = diff(before, after, request);
  return {std::move(found.results), std::move(found.exceeded)};
}

Results joined_series(const std::vector<std::vector<Results>>& runs,
                      const std::vector<std::string>& names, const nb::dict& options) {
  SeriesOptions request;
  fill(request, options);
  return joined(runs, names, request);
}

void task(const std::string& name, const std::string& model, const std::string& out,
          const nb::dict& options) {
  TaskOptions request{.task = name};
  fill(request, options);
  const nb::gil_scoped_release released;
  write_task(Model(model), request, out);
}

// Returns the options of an experiment, which declare its keyword arguments.
nb::object options(const std::string& experiment) {
  const auto list = [](auto request, auto... /*method*/) -> nb::object {
    nb::list all;
    for (const Option& option : options_of(request)) all.append(to_python(described(option)));
    return all;
  };
  if (experiment == "task") return list(TaskOptions());
  if (experiment == "series") return list(SeriesOptions());
  return experiment == "diff" ? list(DiffRequest()) : with_request(experiment, list);
}

// Returns the title and meaning of every metric that results may have.
nb::dict metrics() {
  nb::dict all;
  for (const MetricInfo& metric : all_metrics()) {
    if (metric.kind == MetricKind::hidden) continue;
    nb::dict fields;
    fields["title"] = metric.title;
    fields["meaning"] = metric.meaning;
    all[metric.name.c_str()] = fields;
  }
  return all;
}

}  // namespace

void bind_session(nb::module_& module) {
  nb::class_<Text>(module, "Text")
      .def(
          "__init__",
          [](Text* self, std::string name, bool is_ids, std::optional<std::string> utf8,
             std::optional<std::vector<int>> ids) {
            new (self) Text{.name = std::move(name), .is_ids = is_ids};
            if (utf8) self->utf8 = std::make_shared<const std::string>(std::move(*utf8));
            if (ids) self->ids = std::make_shared<const std::vector<int>>(std::move(*ids));
          },
          nb::arg("name"), nb::arg("is_ids"), nb::arg("utf8").none() = nb::none(),
          nb::arg("ids").none() = nb::none())
      .def_ro("name", &Text::name)
      .def_ro("is_ids", &Text::is_ids)
      .def_prop_ro("utf8",
                   [](const Text& text) -> std::optional<std::string> {
                     return text.utf8 ? std::optional(*text.utf8) : std::nullopt;
                   })
      .def_prop_ro("ids", [](const Text& text) -> std::optional<std::vector<int>> {
        return text.ids ? std::optional(*text.ids) : std::nullopt;
      });
  module.def("run", run, nb::arg("experiment"), nb::arg("options"), nb::arg("model").none(),
             nb::arg("heads").none(), nb::arg("texts"), nb::arg("out") = "", nb::arg("shard") = "",
             nb::arg("shards") = std::vector<std::string>(),
             nb::arg("progress").none() = nb::none(), nb::arg("own") = nb::dict(),
             nb::arg("force") = false);
  module.def("merge", merged, nb::arg("folders"), nb::arg("out"), nb::arg("progress").none(),
             nb::arg("force"));
  module.def("require_unread", [](const std::string& out, const std::vector<std::string>& read) {
    require_unread(out, read);
  });
  module.def("require_unread_results", require_unread_results);
  module.def("diff", difference, nb::arg("before"), nb::arg("after"), nb::arg("old_name"),
             nb::arg("new_name"), nb::arg("options"));
  module.def("series", joined_series, nb::arg("runs"), nb::arg("names"), nb::arg("options"));
  module.def("write_task", task, nb::arg("name"), nb::arg("model"), nb::arg("out"),
             nb::arg("options"));
  module.def("options", options, nb::arg("experiment"));
  module.def("metrics", metrics);
}

}  // namespace headgauge::python
