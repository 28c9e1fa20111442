// Labelled arrays, in the manner of xarray: every dim has a name and a label for each of its
// places, and operations name the dim that they work along. Only src/results/array.cpp computes
// strides.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

// The labels along one dim: numbers or names.
using Coordinate = std::variant<std::vector<double>, std::vector<std::string>>;

// A dim: its name and its labels. Copies share the labels.
class Dimension {
 public:
  Dimension(std::string name, Coordinate labels);
  const std::string& name() const { return name_; }
  Index size() const { return size_; }
  const Coordinate& labels() const { return *labels_; }
  // Return the labels as numbers or as names; throw UsageError if they are of the other kind.
  std::span<const double> numbers() const;
  std::span<const std::string> names() const;
  // One label as text: "1024", "0.1", "ssmax".
  std::string label(Index place) const;
  // Finds the place of a label; numbers agree to 1e-9 relative. Returns nothing if there is none.
  std::optional<Index> find(double label) const;
  std::optional<Index> find(std::string_view label) const;
  // Returns the dim cut to some of its places, in the given order.
  Dimension take(std::span<const Index> places) const;
  Dimension renamed(std::string name) const;
  // Compares names and labels.
  friend bool operator==(const Dimension& a, const Dimension& b);

 private:
  std::string name_;
  std::shared_ptr<const Coordinate> labels_;
  Index size_ = 0;
};

// Writes all labels of a dim in few words: "0-5, 7", "32, 64, 128 and 3 more".
std::string labels_text(const Coordinate& labels, std::size_t shown = 6);

// The places of one label in two dims.
struct SharedPlace {
  Index first = 0;
  Index second = 0;
};

// Finds the labels that both dims have, in the order of the second. A label of the dim `position`
// covers the rows since the label before it, and is shared only if both labels are shared.
std::vector<SharedPlace> shared_places(const Dimension& first, const Dimension& second);

// A value, what is known of its error, and the test of it. The catalogue says what the interval and
// the test of a metric are.
struct Estimate {
  double value = kUndefined;
  double standard_error = kUndefined;
  std::int64_t rows = 0;                   // that the value is a mean over
  double degrees_of_freedom = kUndefined;  // of the standard error: K - 1 for K batches
  double low = kUndefined;                 // the ends of the 95 % interval
  double high = kUndefined;
  double p = kUndefined;

  bool has_interval() const { return !std::isnan(low) && !std::isnan(high); }
};

// Values over the product of the dims, row-major in their order. An undefined cell is NaN.
class LabelledArray {
 public:
  explicit LabelledArray(std::vector<Dimension> dims = {}, std::string unit = "1");

  std::string unit;
  std::optional<double> none;  // the value that means "none was found", for example -1
  bool identifier = false;     // true if values number something, for example heads
  std::string change_of;       // the metric whose change this array holds; empty for all others
  std::vector<double> values;
  // The parts of Estimate: each has as many numbers as `values`, or none.
  std::vector<double> standard_error, degrees_of_freedom, low, high, p;
  std::vector<std::int64_t> rows;

  const std::vector<Dimension>& dims() const { return dims_; }
  std::vector<std::string> dim_names() const;
  Index size() const { return std::ssize(values); }
  bool has_dim(std::string_view name) const { return axis(name).has_value(); }
  // Returns whether the dims begin with layer and head.
  bool of_heads() const;
  // Returns whether a value means "none was found".
  bool is_none(double value) const { return none == value; }
  // Throws UsageError if there is no such dim.
  const Dimension& dim(std::string_view name) const;

  // Add to an array that has none: standard errors with their degrees of freedom, intervals and p,
  // all undefined, or numbers of rows, all 0.
  LabelledArray& with_standard_errors();
  LabelledArray& with_intervals();
  LabelledArray& with_p();
  LabelledArray& with_rows();

  // Computes the place of a cell in `values` from an index along every dim; throws UsageError if
  // there is no such cell.
  Index offset(std::span<const Index> cell) const;
  double& operator()(std::initializer_list<Index> cell) { return values[flat(cell)]; }
  double operator()(std::initializer_list<Index> cell) const { return values[flat(cell)]; }
  Estimate at(std::span<const Index> cell) const;
  Estimate at(std::initializer_list<Index> cell) const { return at(as_span(cell)); }
  // Returns the cell at an offset as each() gives it.
  Estimate at_offset(std::size_t offset) const;
  // Sets the value, and those parts of the estimate that the array has.
  void set(std::span<const Index> cell, const Estimate& estimate);
  // Sets the cells along the last dim; `outer` is the cell along the others.
  void set_along(std::span<const Index> outer, std::span<const Estimate> estimates);
  void set(std::initializer_list<Index> cell, const Estimate& estimate) {
    set(as_span(cell), estimate);
  }

  // Gives the dim of that name these labels, if the array has it; throws UsageError if their number
  // differs.
  void relabel(const Dimension& dim);

  // Visits every cell in order: visit(std::span<const Index> cell, std::size_t offset).
  template <class Visit>
  void each(const Visit& visit) const;

  // Return the cells at one place of a dim, given by its index (negative ones count from the end)
  // or its label, without that dim. Throw UsageError if there is no such place.
  LabelledArray isel(std::string_view dim, Index place) const;
  LabelledArray sel(std::string_view dim, double label) const;
  LabelledArray sel(std::string_view dim, std::string_view label) const;
  // Returns the cells at some places of a dim, in the given order.
  LabelledArray take(std::string_view dim, std::span<const Index> places) const;
  // Returns the same cells with the dims in another order; `order` names each dim once.
  LabelledArray transposed(std::span<const std::string> order) const;
  LabelledArray renamed(std::string_view from, std::string to) const;
  // Applies `f` to every value except the one that means "none was found", and drops all other
  // parts.
  LabelledArray map(const std::function<double(double)>& f) const;
  // Writes `slice`, whose dims are the other dims in the same order and of the same sizes, at one
  // place of a dim. Standard errors and rows that only one of the two has stay unchanged; other
  // parts that the slice lacks become undefined.
  void put(std::string_view dim, Index place, const LabelledArray& slice);
  // Copies every cell of `from` to the cell with the same labels, and skips cells whose labels are
  // not here. Both arrays have dims of the same names in the same order.
  void put_labelled(const LabelledArray& from);

 private:
  // Selects the cells of another array that a new array takes: those at `base` plus, along each new
  // dim, offsets[dim][index].
  struct Gather {
    std::vector<Dimension> dims;
    std::vector<std::vector<Index>> offsets;
    Index base = 0;
  };
  static std::span<const Index> as_span(std::initializer_list<Index> cell) {
    return {cell.begin(), cell.size()};
  }
  std::size_t flat(std::initializer_list<Index> cell) const {
    return static_cast<std::size_t>(offset(as_span(cell)));
  }
  std::optional<std::size_t> axis(std::string_view name) const;
  std::size_t require_axis(std::string_view name) const;
  std::vector<Index> steps(std::size_t axis) const;
  Gather everything() const;
  LabelledArray gathered(Gather which) const;
  void scatter(const LabelledArray& from, const Gather& to);

  std::vector<Dimension> dims_;
  std::vector<Index> strides_;
};

// A part of the estimates of an array, and its name in files.
struct EstimatePart {
  const char* name;
  std::vector<double> LabelledArray::*numbers;
  double Estimate::*number;
};
// All but the value and the number of rows.
inline constexpr std::array<EstimatePart, 5> kEstimateParts = {{
    {"stderr", &LabelledArray::standard_error, &Estimate::standard_error},
    {"degrees_of_freedom", &LabelledArray::degrees_of_freedom, &Estimate::degrees_of_freedom},
    {"low", &LabelledArray::low, &Estimate::low},
    {"high", &LabelledArray::high, &Estimate::high},
    {"p", &LabelledArray::p, &Estimate::p},
}};

// Makes an array of these dims, all cells undefined, with the unit, the meaning and the parts of
// another.
LabelledArray undefined_like(const LabelledArray& other, std::vector<Dimension> dims);

// Subtracts `before` from `after` and computes the standard errors for two independent means. A
// cell is undefined if one of the two means "none was found". Throws UsageError if the numbers of
// cells differ.
LabelledArray difference(const LabelledArray& before, const LabelledArray& after);

// Stacks arrays along a new dim, which follows layer and head and has one label for each array. The
// cells of an array that is null, or whose dims differ from the first array's, stay undefined.
// Throws UsageError if there is no first array.
LabelledArray stack(std::span<const LabelledArray* const> arrays, const Dimension& dim);

// Cuts two arrays of the same dims to the labels that both have, written as in the second.
std::pair<LabelledArray, LabelledArray> align(const LabelledArray& first,
                                              const LabelledArray& second);

template <class Visit>
void LabelledArray::each(const Visit& visit) const {
  std::vector<Index> cell(dims_.size(), 0);
  for (std::size_t offset = 0; offset < values.size(); ++offset) {
    visit(std::span<const Index>(cell), offset);
    for (std::size_t k = dims_.size(); k > 0 && ++cell[k - 1] == dims_[k - 1].size();) {
      cell[--k] = 0;
    }
  }
}

}  // namespace headgauge
