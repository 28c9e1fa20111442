// The keys that a sparse pattern selects, and the entries of a plan, for a live model.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "headgauge/attention_plan.hpp"
#include "headgauge/base.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/patterns.hpp"

namespace headgauge::python {
namespace {

using Rows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Heads = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Ranges = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
// The class of headgauge/_own.py takes layer, head, document, causal, window, scale, softcap.
using AskedHead = std::tuple<int, int, int, bool, Index, float, float>;
using Mask = nb::ndarray<nb::numpy, bool, nb::ndim<2>>;

MatrixView<const float> view(const Rows& rows) {
  return {rows.data(), static_cast<Index>(rows.shape(0)), static_cast<Index>(rows.shape(1))};
}

class LivePattern {
 public:
  explicit LivePattern(const std::string& spec) : pattern_(make_pattern(spec, "pattern")) {}
  explicit LivePattern(std::shared_ptr<const Pattern> pattern) : pattern_(std::move(pattern)) {}

  std::string name() const { return pattern_->info().name; }
  std::optional<std::pair<Index, Index>> first_and_last() const {
    const auto kept = pattern_->first_and_last();
    if (!kept) return std::nullopt;
    return std::pair(kept->first, kept->last);
  }
  // Heads that share keys keep the same ones.
  bool shared() const { return pattern_->same_for_shared_keys(); }
  // What a query keeps depends on the queries before it.
  bool follows_queries() const { return shared() && pattern_->info().by_weight; }
  double parameter(const std::string& key) const { return pattern_->info().parameters.number(key); }

  // Returns the keys of `ranges` that the pattern keeps, for the last queries, one per range.
  // `queries`: (heads, tokens, d), those of the heads that the answer is for. `logits`: those of
  // the last queries, for patterns that need them.
  Mask select(const Heads& queries, const Rows& keys, const Ranges& ranges, const AskedHead& asked,
              std::optional<Rows> logits) const {
    const auto& [layer, head, document, causal, window, scale, softcap] = asked;
    const std::size_t count = keys.shape(0);
    const std::size_t rows = ranges.shape(0);
    if (queries.shape(1) != count || queries.shape(2) != keys.shape(1) || rows > count ||
        (logits && (logits->shape(0) != rows || logits->shape(1) != count))) {
      throw BadInputError("pattern: expected queries, keys and logits of one text, found others");
    }
    HeadInput input;
    input.layer = layer;
    input.head = input.kv_head = head;
    input.document = document;
    for (std::size_t h = 0; h < queries.shape(0); ++h) {
      input.group_queries.emplace_back(queries.data() + h * count * keys.shape(1),
                                       static_cast<Index>(count),
                                       static_cast<Index>(keys.shape(1)));
    }
    input.queries = input.group_queries.front();
    input.keys = view(keys);
    input.scale = scale;
    input.softcap = softcap;
    input.visibility = !causal      ? Visibility::full()
                       : window > 0 ? Visibility::sliding_window(window)
                                    : Visibility::causal();
    Mask left = zeros<bool>(rows, count);
    const nb::gil_scoped_release released;
    const std::shared_ptr<const KeyMask> mask = pattern_->mask(input);
    std::vector<std::uint32_t> selected;
    for (std::size_t row = 0; row < rows; ++row) {
      const KeyRange range{static_cast<Index>(ranges(row, 0)), static_cast<Index>(ranges(row, 1))};
      if (range.begin < 0 || range.end < range.begin || range.end > static_cast<Index>(count)) {
        throw BadInputError("pattern: expected ranges of the keys, found others");
      }
      if (range.size() == 0) continue;
      std::span<const float> of_row;
      if (mask->needs_logits()) {
        if (!logits) throw BadInputError("pattern: expected logits, found none");
        of_row = {logits->data() + row * count + static_cast<std::size_t>(range.begin),
                  static_cast<std::size_t>(range.size())};
      }
      mask->select(static_cast<Index>(count - rows + row), range, of_row, selected);
      for (const std::uint32_t key : selected) left.data()[row * count + key] = true;
    }
    return left;
  }

 private:
  std::shared_ptr<const Pattern> pattern_;
};

// The pattern and the normalizer of every layer and key-value head; empty: the model's own.
using PlanTexts = std::vector<std::vector<std::pair<std::string, std::string>>>;

PlanTexts plan_texts(const std::string& text, const std::string& name) {
  const AttentionPlan plan = parse_plan(text, name);
  PlanTexts texts(static_cast<std::size_t>(plan.heads.layers()));
  plan.heads.each([&](int layer, int, const HeadPlan& head) {
    texts[static_cast<std::size_t>(layer)].emplace_back(head.pattern, head.normalizer);
  });
  return texts;
}

}  // namespace

nb::object pattern_object(std::shared_ptr<const Pattern> pattern) {
  return pattern == nullptr ? nb::object(nb::none()) : nb::cast(LivePattern(std::move(pattern)));
}

void bind_pattern(nb::module_& module) {
  nb::class_<LivePattern>(module, "Pattern")
      .def(nb::init<const std::string&>())
      .def_prop_ro("name", &LivePattern::name)
      .def_prop_ro("first_and_last", &LivePattern::first_and_last)
      .def_prop_ro("shared", &LivePattern::shared)
      .def_prop_ro("follows_queries", &LivePattern::follows_queries)
      .def("parameter", &LivePattern::parameter)
      .def("select", &LivePattern::select, nb::arg("queries"), nb::arg("keys"), nb::arg("ranges"),
           nb::arg("head"), nb::arg("logits").none());
  module.def("plan_texts", &plan_texts);
}

}  // namespace headgauge::python
