// Measures, normalizers and patterns that are Python objects (headgauge/_own.py).
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "headgauge/measure.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/patterns.hpp"

namespace headgauge::python {
namespace {

constexpr Index kBlock = 64;  // queries that a pattern is asked about at a time

using Found = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using FoundMask = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A numpy array of its own memory. The caller holds the GIL.
template <class T>
nb::object array_of(std::vector<T> values, std::vector<std::size_t> shape) {
  auto* const held = new std::vector<T>(std::move(values));
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(held->data(), shape.size(), shape.data(), owner));
}

nb::object array_of(MatrixView<const float> rows) {
  std::vector<float> values;
  for (Index r = 0; r < rows.rows(); ++r) {
    values.insert(values.end(), rows.row(r).begin(), rows.row(r).end());
  }
  return array_of(std::move(values),
                  {static_cast<std::size_t>(rows.rows()), static_cast<std::size_t>(rows.cols())});
}

nb::module_ own_module() {
  return nb::module_::import_("headgauge._own");
}

class OwnMeasure final : public Measure {
 public:
  explicit OwnMeasure(nb::handle object) : object_(nb::borrow(object)) {
    for (const auto& [name, described] : nb::cast<nb::dict>(object.attr("metrics"))) {
      const auto [unit, meaning] = nb::cast<std::pair<std::string, std::string>>(described);
      infos_.push_back({.name = nb::cast<std::string>(name),
                        .title = nb::cast<std::string>(name),
                        .group = "own",
                        .unit = unit,
                        .meaning = meaning});
    }
  }

  void declare(MetricRegistry& metrics) override {
    for (const MetricInfo& info : infos_) handles_.push_back(metrics.add(info));
  }
  MeasureNeeds needs() const override { return {.weights = true}; }

  void observe(const RowBlock& block, int /*slot*/, RowSink& sink) override {
    Index keys = 0;
    for (const Row& row : block.rows) keys = std::max(keys, row.keys.end);
    const auto count = static_cast<std::size_t>(block.size());
    const auto width = static_cast<std::size_t>(keys);
    std::vector<std::int64_t> queries;
    std::vector<float> logits(count * width, -std::numeric_limits<float>::infinity());
    std::vector<float> weights(count * width);
    for (std::size_t r = 0; r < count; ++r) {
      const Row& row = block.rows[r];
      queries.push_back(row.query);
      for (Index i = 0; i < row.n(); ++i) {
        const std::size_t at = r * width + static_cast<std::size_t>(row.key(i));
        logits[at] = row.logits[i];
        weights[at] = row.weights[i];
      }
    }
    const nb::gil_scoped_acquire acquired;
    const nb::module_ own = own_module();
    const HeadInput& head = *block.head;
    const nb::object rows = own.attr("Rows")(
        head.layer, head.head, head.document, array_of(std::move(queries), {count}),
        array_of(std::move(logits), {count, width}), array_of(std::move(weights), {count, width}));
    nb::list names;
    for (const MetricInfo& info : infos_) names.append(info.name);
    const auto found = nb::cast<Found>(own.attr("observed")(object_.get(), names, rows));
    for (std::size_t m = 0; m < handles_.size(); ++m) {
      for (std::size_t r = 0; r < count; ++r) {
        const double value = found.data()[m * count + r];
        if (value == value) sink.set(static_cast<Index>(r), handles_[m], value);
      }
    }
  }

 private:
  Held object_;
  std::vector<MetricInfo> infos_;
  std::vector<MetricHandle> handles_;
};

class OwnNormalizer final : public Normalizer {
 public:
  explicit OwnNormalizer(nb::handle object) : object_(nb::borrow(object)) {
    info_.name = nb::cast<std::string>(object.attr("name"));
    info_.formula = info_.source = "a Python object of the caller";
    info_.bound = "not known";
    info_.lemma1 = "not known";
    traits_.simplex = nb::cast<bool>(object.attr("simplex"));
    traits_.by_position = nb::cast<bool>(object.attr("by_position"));
    traits_.increasing = false;
    traits_.in_blocks = true;
  }
  const NormalizerInfo& info() const override { return info_; }
  NormalizerTraits traits() const override { return traits_; }

  void jacobian(std::span<const double> logits, const RowContext& context,
                Jacobian& out) const override {
    const std::size_t n = logits.size();
    out.diagonal.assign(n, 0);
    out.terms.clear();
    const nb::gil_scoped_acquire acquired;
    const auto found = nb::cast<Found>(own_module().attr("differentiated")(
        object_.get(), array_of(std::vector<double>(logits.begin(), logits.end()), {n}),
        context.position));
    for (std::size_t j = 0; j < n; ++j) {
      Jacobian::Term term{std::vector<double>(n), std::vector<double>(n)};
      for (std::size_t i = 0; i < n; ++i) term.left[i] = found.data()[i * n + j];
      term.right[j] = 1;
      out.terms.push_back(std::move(term));
    }
  }

 protected:
  void weigh_row(std::span<const double> logits, const RowContext& context,
                 std::span<double> weights) const override {
    const ExactRow row{logits, context, weights};
    weigh_block({&row, 1});
  }
  void weigh_block(std::span<const ExactRow> rows) const override {
    std::size_t width = 0;
    for (const ExactRow& row : rows) width = std::max(width, row.logits.size());
    std::vector<double> logits(rows.size() * width, -std::numeric_limits<double>::infinity());
    std::vector<std::int64_t> counts, positions;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::ranges::copy(rows[r].logits, logits.begin() + static_cast<std::ptrdiff_t>(r * width));
      counts.push_back(std::ssize(rows[r].logits));
      positions.push_back(rows[r].context.position);
    }
    const nb::gil_scoped_acquire acquired;
    const auto found = nb::cast<Found>(own_module().attr("weighed")(
        object_.get(), array_of(std::move(logits), {rows.size(), width}),
        array_of(std::move(counts), {rows.size()}), array_of(std::move(positions), {rows.size()})));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::copy_n(found.data() + r * width, rows[r].weights.size(), rows[r].weights.begin());
    }
  }

 private:
  Held object_;
  NormalizerInfo info_;
  NormalizerTraits traits_;
};

// The keys that a pattern kept for every query of a text.
class OwnMask final : public KeyMask {
 public:
  OwnMask(std::string name, Index length)
      : name_(std::move(name)), length_(length), kept_(static_cast<std::size_t>(length * length)) {}
  std::string name() const override { return name_; }
  void keep(Index query, const bool* keys) {
    std::copy_n(keys, length_, kept_.begin() + query * length_);
  }
  void select(Index query, KeyRange range, std::span<const float> /*logits*/,
              std::vector<std::uint32_t>& keys) const override {
    keys.clear();
    for (Index key = range.begin; key < range.end; ++key) {
      if (kept_[static_cast<std::size_t>(query * length_ + key)]) {
        keys.push_back(static_cast<std::uint32_t>(key));
      }
    }
  }

 private:
  std::string name_;
  Index length_;
  std::vector<bool> kept_;
};

class OwnPattern final : public Pattern {
 public:
  explicit OwnPattern(nb::handle object) : object_(nb::borrow(object)) {
    info_.name = nb::cast<std::string>(object.attr("name"));
    info_.formula = info_.source = "a Python object of the caller";
  }
  const PatternInfo& info() const override { return info_; }

  std::shared_ptr<const KeyMask> mask(const HeadInput& head) const override {
    if (head.queries.empty()) {
      throw UsageError(fault(info_.name, "heads with queries and keys", "heads with scores alone",
                             "give queries and keys"));
    }
    const Index length = head.length();
    auto mask = std::make_shared<OwnMask>(info_.name, length);
    const nb::gil_scoped_acquire acquired;
    const nb::module_ own = own_module();
    const nb::object keys = array_of(head.keys);
    for (Index first = 0; first < length; first += kBlock) {
      const Index count = std::min(kBlock, length - first);
      const auto found = nb::cast<FoundMask>(
          own.attr("selected")(object_.get(), queries_of(own, head, keys, first, count)));
      for (Index r = 0; r < count; ++r) mask->keep(first + r, found.data() + r * length);
    }
    return mask;
  }

 private:
  static nb::object queries_of(const nb::module_& own, const HeadInput& head,
                               const nb::object& keys, Index first, Index count) {
    const Index length = head.length();
    const auto rows = static_cast<std::size_t>(count);
    const auto width = static_cast<std::size_t>(length);
    std::vector<std::int64_t> positions;
    const auto visible = zeros<bool>(rows, width);
    for (Index r = 0; r < count; ++r) {
      positions.push_back(first + r);
      const KeyRange range = head.visibility.range(first + r, length);
      std::fill(visible.data() + r * length + range.begin, visible.data() + r * length + range.end,
                true);
    }
    return own.attr("Queries")(head.layer, head.head, head.document,
                               array_of(std::move(positions), {rows}),
                               array_of(head.queries.block(first, count, 0, head.queries.cols())),
                               keys, head.scale, visible);
  }

  Held object_;
  PatternInfo info_;
};

}  // namespace

MeasureMaker measure_maker(nb::object object) {
  const auto held = std::make_shared<const Held>(std::move(object));
  return [held](const MeasureOptions&, const SourceInfo&, int) -> std::unique_ptr<Measure> {
    const nb::gil_scoped_acquire acquired;
    return std::make_unique<OwnMeasure>(held->get());
  };
}

std::shared_ptr<const Normalizer> own_normalizer(nb::handle object) {
  return std::make_shared<OwnNormalizer>(object);
}

std::shared_ptr<const Pattern> own_pattern(nb::handle object) {
  return std::make_shared<OwnPattern>(object);
}

}  // namespace headgauge::python
