#include "headgauge/array.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr Index kMostCells = Index{1} << 40;  // more than fits on any machine

// Visits the offsets of all cells of a gather, in the order of its dims.
template <class Visit>
void each_offset(const std::vector<std::vector<Index>>& offsets, Index base, const Visit& visit,
                 std::size_t axis = 0) {
  if (axis == offsets.size()) return visit(base);
  for (const Index offset : offsets[axis]) {
    each_offset(offsets, offset < 0 || base < 0 ? -1 : base + offset, visit, axis + 1);
  }
}

// Returns the index of the first dim after layer and head.
std::size_t axis_after_heads(const LabelledArray& array) {
  const auto other = [](const Dimension& dim) {
    return dim.name() != "layer" && dim.name() != "head";
  };
  return static_cast<std::size_t>(std::ranges::find_if(array.dims(), other) - array.dims().begin());
}

void check_place(const Dimension& dim, Index place) {
  if (place >= 0 && place < dim.size()) return;
  throw UsageError(fault("results",
                         fmt::format("an index below {} along \"{}\"", dim.size(), dim.name()),
                         std::to_string(place), ""));
}

template <class T>
void take_cells(const std::vector<T>& from, const std::vector<Index>& cells, std::vector<T>& to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (cells[i] >= 0) to[i] = from[cells[i]];
  }
}

template <class T>
void put_cells(const std::vector<T>& from, const std::vector<Index>& cells, std::vector<T>& to) {
  if (to.empty()) return;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (cells[i] >= 0) to[cells[i]] = from[i];
  }
}

}  // namespace

LabelledArray undefined_like(const LabelledArray& other, std::vector<Dimension> dims) {
  LabelledArray array(std::move(dims), other.unit);
  array.none = other.none;
  array.identifier = other.identifier;
  array.change_of = other.change_of;
  if (!other.standard_error.empty()) array.with_standard_errors();
  for (const auto& [name, numbers, number] : kEstimateParts) {
    if (!(other.*numbers).empty()) (array.*numbers).resize(array.values.size(), kUndefined);
  }
  if (!other.rows.empty()) array.with_rows();
  return array;
}

LabelledArray::LabelledArray(std::vector<Dimension> dims, std::string unit_of)
    : unit(std::move(unit_of)), dims_(std::move(dims)), strides_(dims_.size(), 1) {
  // An array with an empty dim has no cells, whatever the sizes of its other dims.
  const bool no_cells =
      std::ranges::any_of(dims_, [](const Dimension& dim) { return dim.size() == 0; });
  Index cells = no_cells ? 0 : 1;
  for (std::size_t k = dims_.size(); k-- > 0 && !no_cells;) {
    strides_[k] = cells;
    if (cells > kMostCells / dims_[k].size()) {
      throw ResourceError(fault("results", "an array of at most 2^40 values",
                                fmt::format("one of {} dims with more", dims_.size()),
                                "take fewer labels"));
    }
    cells *= dims_[k].size();
  }
  values.assign(static_cast<std::size_t>(cells), kUndefined);
}

std::vector<std::string> LabelledArray::dim_names() const {
  std::vector<std::string> names;
  for (const Dimension& dim : dims_) names.push_back(dim.name());
  return names;
}

bool LabelledArray::of_heads() const {
  return dims_.size() >= 2 && dims_[0].name() == "layer" && dims_[1].name() == "head";
}

std::optional<std::size_t> LabelledArray::axis(std::string_view name) const {
  const auto found = std::ranges::find(dims_, name, &Dimension::name);
  if (found == dims_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - dims_.begin());
}

std::size_t LabelledArray::require_axis(std::string_view name) const {
  if (const auto found = axis(name)) return *found;
  throw UsageError(fault("results", fmt::format("a dim \"{}\"", name), "none", ""));
}

const Dimension& LabelledArray::dim(std::string_view name) const {
  return dims_[require_axis(name)];
}

void LabelledArray::relabel(const Dimension& dim) {
  const auto k = axis(dim.name());
  if (!k) return;
  if (dims_[*k].size() != dim.size()) {
    throw UsageError(fault("results",
                           fmt::format("{} labels of \"{}\"", dims_[*k].size(), dim.name()),
                           std::to_string(dim.size()), ""));
  }
  dims_[*k] = dim;
}

LabelledArray& LabelledArray::with_standard_errors() {
  standard_error.resize(values.size(), kUndefined);
  degrees_of_freedom.resize(values.size(), kUndefined);
  return *this;
}

LabelledArray& LabelledArray::with_intervals() {
  low.resize(values.size(), kUndefined);
  high.resize(values.size(), kUndefined);
  return *this;
}

LabelledArray& LabelledArray::with_p() {
  p.resize(values.size(), kUndefined);
  return *this;
}

LabelledArray& LabelledArray::with_rows() {
  rows.resize(values.size(), 0);
  return *this;
}

Index LabelledArray::offset(std::span<const Index> cell) const {
  if (cell.size() != dims_.size()) {
    throw UsageError(fault("results", std::to_string(dims_.size()) + " indices",
                           std::to_string(cell.size()), ""));
  }
  Index offset = 0;
  for (std::size_t k = 0; k < cell.size(); ++k) {
    check_place(dims_[k], cell[k]);
    offset += cell[k] * strides_[k];
  }
  return offset;
}

Estimate LabelledArray::at(std::span<const Index> cell) const {
  return at_offset(static_cast<std::size_t>(offset(cell)));
}

Estimate LabelledArray::at_offset(std::size_t place) const {
  Estimate estimate{values[place]};
  for (const auto& [name, numbers, number] : kEstimateParts) {
    if (!(this->*numbers).empty()) estimate.*number = (this->*numbers)[place];
  }
  if (!rows.empty()) estimate.rows = rows[place];
  return estimate;
}

void LabelledArray::set(std::span<const Index> cell, const Estimate& estimate) {
  const auto place = static_cast<std::size_t>(offset(cell));
  values[place] = estimate.value;
  for (const auto& [name, numbers, number] : kEstimateParts) {
    if (!(this->*numbers).empty()) (this->*numbers)[place] = estimate.*number;
  }
  if (!rows.empty()) rows[place] = estimate.rows;
}

void LabelledArray::set_along(std::span<const Index> outer, std::span<const Estimate> estimates) {
  std::vector<Index> cell(outer.begin(), outer.end());
  cell.push_back(0);
  for (Index k = 0; k < std::ssize(estimates); ++k) {
    cell.back() = k;
    set(cell, estimates[k]);
  }
}

// Returns the offset of each index along a dim.
std::vector<Index> LabelledArray::steps(std::size_t axis) const {
  std::vector<Index> steps;
  for (Index i = 0; i < dims_[axis].size(); ++i) steps.push_back(i * strides_[axis]);
  return steps;
}

LabelledArray::Gather LabelledArray::everything() const {
  Gather all{dims_, {}, 0};
  for (std::size_t k = 0; k < dims_.size(); ++k) all.offsets.push_back(steps(k));
  return all;
}

LabelledArray LabelledArray::gathered(Gather which) const {
  std::vector<Index> cells;
  each_offset(which.offsets, which.base, [&](Index offset) { cells.push_back(offset); });
  LabelledArray array = undefined_like(*this, std::move(which.dims));
  take_cells(values, cells, array.values);
  for (const auto& [name, numbers, number] : kEstimateParts) {
    if (!(this->*numbers).empty()) take_cells(this->*numbers, cells, array.*numbers);
  }
  take_cells(rows, cells, array.rows);
  return array;
}

void LabelledArray::scatter(const LabelledArray& from, const Gather& to) {
  std::vector<Index> cells, sizes, others;
  for (const auto& offsets : to.offsets) sizes.push_back(std::ssize(offsets));
  for (const Dimension& dim : from.dims_) others.push_back(dim.size());
  // A dim of size 1 does not affect the comparison.
  std::erase(sizes, 1);
  std::erase(others, 1);
  if (sizes != others) {
    throw UsageError(fault("results", fmt::format("an array of {}", fmt::join(sizes, " x ")),
                           fmt::format("one of {}", fmt::join(others, " x ")), ""));
  }
  each_offset(to.offsets, to.base, [&](Index offset) { cells.push_back(offset); });
  put_cells(from.values, cells, values);
  const std::vector<double> unknown(from.values.size(), kUndefined);
  for (const auto& [name, numbers, number] : kEstimateParts) {
    // What is not known of the new values must not remain from the old ones.
    const bool stays =
        numbers == &LabelledArray::standard_error ||
        (numbers == &LabelledArray::degrees_of_freedom && from.standard_error.empty());
    const bool known = !(from.*numbers).empty();
    if (known || !stays) put_cells(known ? from.*numbers : unknown, cells, this->*numbers);
  }
  put_cells(from.rows, cells, rows);
}

LabelledArray LabelledArray::isel(std::string_view dim, Index place) const {
  const std::size_t k = require_axis(dim);
  const Index from_start = place < 0 ? place + dims_[k].size() : place;
  check_place(dims_[k], from_start < 0 ? place : from_start);
  Gather which = everything();
  which.base = from_start * strides_[k];
  which.dims.erase(which.dims.begin() + static_cast<std::ptrdiff_t>(k));
  which.offsets.erase(which.offsets.begin() + static_cast<std::ptrdiff_t>(k));
  return gathered(std::move(which));
}

LabelledArray LabelledArray::sel(std::string_view dim, double label) const {
  if (const auto place = this->dim(dim).find(label)) return isel(dim, *place);
  throw UsageError(
      fault("results", fmt::format("a label of \"{}\"", dim), fmt::format("{:.6g}", label), ""));
}

LabelledArray LabelledArray::sel(std::string_view dim, std::string_view label) const {
  if (const auto place = this->dim(dim).find(label)) return isel(dim, *place);
  throw UsageError(fault("results", fmt::format("a label of \"{}\"", dim), std::string(label), ""));
}

LabelledArray LabelledArray::take(std::string_view dim, std::span<const Index> places) const {
  const std::size_t k = require_axis(dim);
  for (const Index place : places) check_place(dims_[k], place);
  Gather which = everything();
  which.dims[k] = dims_[k].take(places);
  const std::vector<Index> all = std::exchange(which.offsets[k], {});
  for (const Index place : places) which.offsets[k].push_back(all[place]);
  return gathered(std::move(which));
}

LabelledArray LabelledArray::transposed(std::span<const std::string> order) const {
  Gather which;
  for (const std::string& name : order) {
    const std::size_t k = require_axis(name);
    which.dims.push_back(dims_[k]);
    which.offsets.push_back(steps(k));
  }
  if (order.size() != dims_.size()) {
    throw UsageError(
        fault("results", std::to_string(dims_.size()) + " dims", std::to_string(order.size()), ""));
  }
  return gathered(std::move(which));
}

LabelledArray LabelledArray::renamed(std::string_view from, std::string to) const {
  LabelledArray copy = *this;
  const std::size_t k = require_axis(from);
  copy.dims_[k] = copy.dims_[k].renamed(std::move(to));
  return copy;
}

LabelledArray LabelledArray::map(const std::function<double(double)>& f) const {
  LabelledArray array = *this;
  for (const auto& [name, numbers, number] : kEstimateParts) (array.*numbers).clear();
  array.rows.clear();
  for (double& value : array.values) {
    if (!is_none(value)) value = f(value);
  }
  return array;
}

void LabelledArray::put(std::string_view dim, Index place, const LabelledArray& slice) {
  const std::size_t k = require_axis(dim);
  check_place(dims_[k], place);
  Gather to = everything();
  to.offsets[k] = {to.offsets[k][place]};
  scatter(slice, to);
}

void LabelledArray::put_labelled(const LabelledArray& from) {
  Gather to;
  for (std::size_t k = 0; k < from.dims_.size(); ++k) {
    std::vector<Index>& offsets =
        to.offsets.emplace_back(static_cast<std::size_t>(from.dims_[k].size()), Index{-1});
    const std::size_t own = require_axis(from.dims_[k].name());
    for (const SharedPlace& place : shared_places(dims_[own], from.dims_[k])) {
      offsets[place.second] = place.first * strides_[own];
    }
  }
  scatter(from, to);
}

LabelledArray stack(std::span<const LabelledArray* const> arrays, const Dimension& dim) {
  if (arrays.empty() || arrays.front() == nullptr) {
    throw UsageError(fault("results", "a first array", "none", ""));
  }
  const LabelledArray& first = *arrays.front();
  std::vector<Dimension> dims = first.dims();
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis_after_heads(first)), dim);
  LabelledArray whole = undefined_like(first, std::move(dims));
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    if (arrays[k] == nullptr || arrays[k]->dim_names() != first.dim_names()) continue;
    whole.put(dim.name(), static_cast<Index>(k), *arrays[k]);
  }
  return whole;
}

LabelledArray difference(const LabelledArray& before, const LabelledArray& after) {
  LabelledArray change(after.dims(), after.unit);
  if (before.size() != after.size()) {
    throw UsageError(fault("results", fmt::format("an array of {} cells", after.size()),
                           fmt::format("one of {}", before.size()), ""));
  }
  const bool errors = !before.standard_error.empty() && !after.standard_error.empty();
  if (errors) change.with_standard_errors();
  for (std::size_t i = 0; i < change.values.size(); ++i) {
    const Estimate a = before.at_offset(i), b = after.at_offset(i);
    if (after.is_none(a.value) || after.is_none(b.value)) continue;
    change.values[i] = b.value - a.value;
    if (!errors) continue;
    change.standard_error[i] = std::hypot(a.standard_error, b.standard_error);
    change.degrees_of_freedom[i] = cautious_degrees_of_freedom(
        a.standard_error, a.degrees_of_freedom, b.standard_error, b.degrees_of_freedom);
  }
  return change;
}

std::pair<LabelledArray, LabelledArray> align(const LabelledArray& first,
                                              const LabelledArray& second) {
  std::pair<LabelledArray, LabelledArray> both{first, second};
  for (const Dimension& dim : second.dims()) {
    std::vector<Index> of_first, of_second;
    for (const SharedPlace& place : shared_places(first.dim(dim.name()), dim)) {
      of_first.push_back(place.first);
      of_second.push_back(place.second);
    }
    both.first = both.first.take(dim.name(), of_first);
    both.second = both.second.take(dim.name(), of_second);
    both.first.relabel(both.second.dim(dim.name()));
  }
  return both;
}

}  // namespace headgauge
