// Normalizers for arrays of logits, with the products of their Jacobians.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "headgauge/base.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/parallel.hpp"

namespace headgauge::python {
namespace {

using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Given = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

// The keys [begin, end) that each row sees, and the position of its query.
struct Sights {
  Places begin, end, position;
};

void check(const Rows& rows, const Sights& sights) {
  for (const Places& places : {sights.begin, sights.end, sights.position}) {
    if (places.shape(0) == rows.shape(0)) continue;
    throw BadInputError("rule: expected a place for each row, found another number of them");
  }
  for (std::size_t i = 0; i < rows.shape(0); ++i) {
    const std::int64_t begin = sights.begin(i);
    const std::int64_t end = sights.end(i);
    if (0 <= begin && begin <= end && end <= static_cast<std::int64_t>(rows.shape(1))) continue;
    throw BadInputError("rule: expected 0 <= begin <= end <= the number of keys");
  }
}

// Calls row(logits, context, offset) for each row that sees a key, on all cores.
template <class Row>
void each_row(const Rows& rows, const Sights& sights, int threads, const Row& row) {
  check(rows, sights);
  const nb::gil_scoped_release released;
  ThreadPool pool(threads);
  pool.for_each(static_cast<Index>(rows.shape(0)), [&](Index i) {
    const auto begin = static_cast<Index>(sights.begin(i));
    const Index count = static_cast<Index>(sights.end(i)) - begin;
    if (count == 0) return;
    const Index offset = i * static_cast<Index>(rows.shape(1)) + begin;
    const RowContext context{count, static_cast<Index>(sights.position(i))};
    row(std::span<const double>(rows.data() + offset, count), context, offset);
  });
}

class Rule {
 public:
  explicit Rule(const std::string& spec) : normalizer_(make_normalizer(spec, "rule")) {}
  explicit Rule(std::shared_ptr<const Normalizer> normalizer)
      : normalizer_(std::move(normalizer)) {}

  std::string name() const { return normalizer_->info().name; }
  // Returns a number or a word.
  nb::object parameter(const std::string& key) const {
    const Parameters& parameters = normalizer_->info().parameters;
    if (parameters.is_number(key)) return nb::cast(parameters.number(key));
    return nb::cast(parameters.word(key));
  }
  bool unit_norms() const { return normalizer_->traits().unit_norms; }
  bool by_position() const { return normalizer_->traits().by_position; }

  Given weigh(const Rows& logits, Places begin, Places end, Places position, int threads) const {
    Given weights = zeros<double>(logits.shape(0), logits.shape(1));
    each_row(logits, {begin, end, position}, threads,
             [&](std::span<const double> row, const RowContext& context, Index offset) {
               normalizer_->weigh(row, context, {weights.data() + offset, row.size()});
             });
    return weights;
  }

  Given vjp(const Rows& logits, Places begin, Places end, Places position, const Rows& gradient,
            int threads) const {
    if (gradient.shape(0) != logits.shape(0) || gradient.shape(1) != logits.shape(1)) {
      throw BadInputError("rule: expected a gradient of the shape of the logits");
    }
    Given product = zeros<double>(logits.shape(0), logits.shape(1));
    each_row(logits, {begin, end, position}, threads,
             [&](std::span<const double> row, const RowContext& context, Index offset) {
               normalizer_->vjp(row, context, {gradient.data() + offset, row.size()},
                                {product.data() + offset, row.size()});
             });
    return product;
  }

 private:
  std::shared_ptr<const Normalizer> normalizer_;
};

}  // namespace

nb::object rule_object(std::shared_ptr<const Normalizer> normalizer) {
  return normalizer == nullptr ? nb::object(nb::none()) : nb::cast(Rule(std::move(normalizer)));
}

void bind_rule(nb::module_& module) {
  nb::class_<Rule>(module, "Rule")
      .def(nb::init<const std::string&>())
      .def_prop_ro("name", &Rule::name)
      .def("parameter", &Rule::parameter)
      .def_prop_ro("unit_norms", &Rule::unit_norms)
      .def_prop_ro("by_position", &Rule::by_position)
      .def("weigh", &Rule::weigh)
      .def("vjp", &Rule::vjp);
  module.def("normalizers", [] {
    std::vector<std::string> names;
    for (const NormalizerInfo& info : normalizers()) names.push_back(info.name);
    return names;
  });
}

}  // namespace headgauge::python
