#include "headgauge/array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "results/text.hpp"

namespace headgauge {
namespace {

constexpr double kSame = 1e-9;  // relative

template <class T>
const T& at(const std::vector<T>& list, Index i) {
  return list[static_cast<std::size_t>(i)];
}

// From labels to places.
class Finder {
 public:
  explicit Finder(const Coordinate& labels) {
    if (const auto* names = std::get_if<std::vector<std::string>>(&labels)) {
      for (std::size_t i = 0; i < names->size(); ++i) names_.emplace((*names)[i], i);
    } else {
      const auto& numbers = std::get<std::vector<double>>(labels);
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers_.emplace(numbers[i], i);
    }
  }
  Index operator()(const std::string& name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? -1 : static_cast<Index>(found->second);
  }
  Index operator()(double number) const {
    const double margin = kSame * std::abs(number);
    const auto found = numbers_.lower_bound(number - margin);
    if (found == numbers_.end() || found->first > number + margin) return -1;
    return static_cast<Index>(found->second);
  }

 private:
  std::map<std::string, std::size_t> names_;
  std::map<double, std::size_t> numbers_;
};

std::vector<std::string> number_runs(const std::vector<double>& numbers) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (end - i > 2) {
      parts.push_back(fmt::format("{:.6g}-{:.6g}", numbers[i], numbers[end - 1]));
    } else {
      end = i + 1;
      parts.push_back(fmt::format("{:.6g}", numbers[i]));
    }
    i = end;
  }
  return parts;
}

// Visits the offsets of all cells of a gather, in the order of its dims.
template <class Visit>
void each_offset(const std::vector<std::vector<Index>>& offsets, Index base, const Visit& visit,
                 std::size_t axis = 0) {
  if (axis == offsets.size()) return visit(base);
  for (const Index offset : offsets[axis]) {
    each_offset(offsets, offset < 0 || base < 0 ? -1 : base + offset, visit, axis + 1);
  }
}

// The place after layer and head.
std::size_t axis_after_heads(const LabelledArray& array) {
  const auto other = [](const Dimension& dim) {
    return dim.name() != "layer" && dim.name() != "head";
  };
  return static_cast<std::size_t>(std::ranges::find_if(array.dims(), other) - array.dims().begin());
}

template <class T>
void take_cells(const std::vector<T>& from, const std::vector<Index>& cells, std::vector<T>& to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (cells[i] >= 0) to[i] = at(from, cells[i]);
  }
}

template <class T>
void put_cells(const std::vector<T>& from, const std::vector<Index>& cells, std::vector<T>& to) {
  if (to.empty()) return;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (cells[i] >= 0) to[static_cast<std::size_t>(cells[i])] = from[i];
  }
}

}  // namespace

Dimension::Dimension(std::string name, Coordinate labels)
    : name_(std::move(name)), labels_(std::make_shared<const Coordinate>(std::move(labels))) {
  size_ = std::visit([](const auto& list) { return std::ssize(list); }, *labels_);
}

std::span<const double> Dimension::numbers() const {
  const auto* numbers = std::get_if<std::vector<double>>(labels_.get());
  if (numbers != nullptr) return *numbers;
  throw UsageError(fault("results", "numbers in the coordinate \"" + name_ + "\"", "names", ""));
}

std::span<const std::string> Dimension::names() const {
  const auto* names = std::get_if<std::vector<std::string>>(labels_.get());
  if (names != nullptr) return *names;
  throw UsageError(fault("results", "names in the coordinate \"" + name_ + "\"", "numbers", ""));
}

std::string Dimension::label(Index place) const {
  if (const auto* names = std::get_if<std::vector<std::string>>(labels_.get())) {
    return at(*names, place);
  }
  return fmt::format("{:.6g}", at(std::get<std::vector<double>>(*labels_), place));
}

std::optional<Index> Dimension::find(double label) const {
  const auto* labels = std::get_if<std::vector<double>>(labels_.get());
  if (labels == nullptr) return std::nullopt;
  for (Index i = 0; i < size_; ++i) {
    if (std::abs(at(*labels, i) - label) <= kSame * std::abs(label)) return i;
  }
  return std::nullopt;
}

std::optional<Index> Dimension::find(std::string_view label) const {
  const auto* labels = std::get_if<std::vector<std::string>>(labels_.get());
  if (labels == nullptr) return std::nullopt;
  const auto found = std::ranges::find(*labels, label);
  if (found == labels->end()) return std::nullopt;
  return found - labels->begin();
}

Dimension Dimension::take(std::span<const Index> places) const {
  return {name_, std::visit(
                     [&](const auto& labels) -> Coordinate {
                       std::decay_t<decltype(labels)> chosen;
                       for (const Index place : places) chosen.push_back(at(labels, place));
                       return chosen;
                     },
                     *labels_)};
}

Dimension Dimension::renamed(std::string name) const {
  Dimension copy = *this;
  copy.name_ = std::move(name);
  return copy;
}

bool operator==(const Dimension& a, const Dimension& b) {
  return a.name_ == b.name_ && (a.labels_ == b.labels_ || *a.labels_ == *b.labels_);
}

std::string labels_text(const Coordinate& labels) {
  constexpr std::size_t kShown = 6;
  const auto* numbers = std::get_if<std::vector<double>>(&labels);
  const auto parts =
      numbers != nullptr ? number_runs(*numbers) : std::get<std::vector<std::string>>(labels);
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == kShown && parts.size() > kShown + 1) {
      return legible(text) + fmt::format(" and {} more", parts.size() - i);
    }
    text += (i == 0 ? "" : ", ") + parts[i];
  }
  return text.empty() ? "none" : legible(text);
}

std::vector<SharedPlace> shared_places(const Dimension& first, const Dimension& second) {
  std::vector<SharedPlace> shared;
  const Finder find(first.labels());
  const bool intervals = second.name() == "position";
  std::visit(
      [&](const auto& labels) {
        for (std::size_t i = 0; i < labels.size(); ++i) {
          const Index place = find(labels[i]);
          if (place < 0) continue;
          if (intervals) {
            const Index previous = i == 0 ? -1 : find(labels[i - 1]);
            if ((i > 0 && previous < 0) || previous != place - 1) continue;
          }
          shared.push_back({place, static_cast<Index>(i)});
        }
      },
      second.labels());
  return shared;
}

LabelledArray::LabelledArray(std::vector<Dimension> dims, std::string unit_of)
    : unit(std::move(unit_of)), dims_(std::move(dims)), strides_(dims_.size(), 1) {
  Index cells = 1;
  for (std::size_t k = dims_.size(); k-- > 0;) {
    strides_[k] = cells;
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
    if (cell[k] < 0 || cell[k] >= dims_[k].size()) {
      throw UsageError(
          fault("results",
                fmt::format("an index below {} along \"{}\"", dims_[k].size(), dims_[k].name()),
                std::to_string(cell[k]), ""));
    }
    offset += cell[k] * strides_[k];
  }
  return offset;
}

Estimate LabelledArray::at(std::span<const Index> cell) const {
  return at_offset(static_cast<std::size_t>(offset(cell)));
}

Estimate LabelledArray::at_offset(std::size_t place) const {
  Estimate estimate{values[place]};
  if (!standard_error.empty()) estimate.standard_error = standard_error[place];
  if (!rows.empty()) estimate.rows = rows[place];
  return estimate;
}

void LabelledArray::set(std::span<const Index> cell, const Estimate& estimate) {
  const auto place = static_cast<std::size_t>(offset(cell));
  values[place] = estimate.value;
  if (!standard_error.empty()) standard_error[place] = estimate.standard_error;
  if (!rows.empty()) rows[place] = estimate.rows;
}

// The offsets of the places of a dim.
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

// An undefined array of these dims that has the parts and the meaning of this one.
LabelledArray LabelledArray::like(std::vector<Dimension> dims) const {
  LabelledArray array(std::move(dims), unit);
  array.none = none;
  array.identifier = identifier;
  array.change_of = change_of;
  if (!standard_error.empty()) array.with_standard_errors();
  if (!rows.empty()) array.with_rows();
  return array;
}

LabelledArray LabelledArray::gathered(Gather which) const {
  std::vector<Index> cells;
  each_offset(which.offsets, which.base, [&](Index offset) { cells.push_back(offset); });
  LabelledArray array = like(std::move(which.dims));
  take_cells(values, cells, array.values);
  take_cells(standard_error, cells, array.standard_error);
  take_cells(rows, cells, array.rows);
  return array;
}

void LabelledArray::scatter(const LabelledArray& from, const Gather& to) {
  std::vector<Index> cells;
  each_offset(to.offsets, to.base, [&](Index offset) { cells.push_back(offset); });
  if (cells.size() != from.values.size()) {
    throw UsageError(fault("results", fmt::format("an array of {} cells", cells.size()),
                           fmt::format("one of {}", from.values.size()), ""));
  }
  put_cells(from.values, cells, values);
  put_cells(from.standard_error, cells, standard_error);
  put_cells(from.rows, cells, rows);
}

LabelledArray LabelledArray::isel(std::string_view dim, Index place) const {
  const std::size_t k = require_axis(dim);
  const Index from_start = place < 0 ? place + dims_[k].size() : place;
  if (from_start < 0 || from_start >= dims_[k].size()) {
    throw UsageError(fault("results",
                           fmt::format("an index below {} along \"{}\"", dims_[k].size(), dim),
                           std::to_string(place), ""));
  }
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
  Gather which = everything();
  which.dims[k] = dims_[k].take(places);
  const std::vector<Index> all = std::exchange(which.offsets[k], {});
  for (const Index place : places) which.offsets[k].push_back(headgauge::at(all, place));
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

LabelledArray LabelledArray::insert_dim(const Dimension& dim, std::size_t axis) const {
  Gather which = everything();
  const auto at = static_cast<std::ptrdiff_t>(axis);
  which.dims.insert(which.dims.begin() + at, dim);
  which.offsets.insert(which.offsets.begin() + at,
                       std::vector<Index>(static_cast<std::size_t>(dim.size()), 0));
  return gathered(std::move(which));
}

LabelledArray LabelledArray::map(const std::function<double(double)>& f) const {
  LabelledArray array = *this;
  array.standard_error.clear();
  array.rows.clear();
  for (double& value : array.values) value = f(value);
  return array;
}

void LabelledArray::put(std::string_view dim, Index place, const LabelledArray& slice) {
  const std::size_t k = require_axis(dim);
  Gather to = everything();
  to.offsets[k] = {headgauge::at(to.offsets[k], place)};
  scatter(slice, to);
}

void LabelledArray::put_labelled(const LabelledArray& from) {
  Gather to;
  for (std::size_t k = 0; k < from.dims_.size(); ++k) {
    std::vector<Index>& offsets =
        to.offsets.emplace_back(static_cast<std::size_t>(from.dims_[k].size()), Index{-1});
    const std::size_t own = require_axis(from.dims_[k].name());
    for (const SharedPlace& place : shared_places(dims_[own], from.dims_[k])) {
      offsets[static_cast<std::size_t>(place.second)] = place.first * strides_[own];
    }
  }
  scatter(from, to);
}

LabelledArray concat(std::span<const LabelledArray> arrays, std::string_view dim) {
  if (arrays.empty()) throw UsageError(fault("results", "arrays to join", "none", ""));
  Coordinate labels = arrays.front().dim(dim).labels();
  for (const LabelledArray& array : arrays.subspan(1)) {
    std::visit(
        [&](auto& all) {
          const auto* more = std::get_if<std::decay_t<decltype(all)>>(&array.dim(dim).labels());
          if (more == nullptr) {
            throw UsageError(fault("results", fmt::format("labels of one kind along \"{}\"", dim),
                                   "numbers and names", ""));
          }
          all.insert(all.end(), more->begin(), more->end());
        },
        labels);
  }
  std::size_t axis = 0;
  while (arrays.front().dims()[axis].name() != dim) ++axis;
  const Dimension joined(std::string(dim), std::move(labels));
  LabelledArray whole = arrays.front().isel(dim, 0).insert_dim(joined, axis);
  Index place = 0;
  for (const LabelledArray& array : arrays) {
    for (Index i = 0; i < array.dim(dim).size(); ++i) whole.put(dim, place++, array.isel(dim, i));
  }
  return whole;
}

LabelledArray stack(std::span<const LabelledArray* const> arrays, const Dimension& dim) {
  if (arrays.empty() || arrays.front() == nullptr) {
    throw UsageError(fault("results", "a first array", "none", ""));
  }
  const LabelledArray& first = *arrays.front();
  LabelledArray whole = first.insert_dim(dim, axis_after_heads(first));
  std::ranges::fill(whole.values, kUndefined);
  std::ranges::fill(whole.standard_error, kUndefined);
  std::ranges::fill(whole.rows, 0);
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    if (arrays[k] == nullptr || arrays[k]->dim_names() != first.dim_names()) continue;
    whole.put(dim.name(), static_cast<Index>(k), *arrays[k]);
  }
  return whole;
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
