// Labelled arrays, in the manner of xarray: every dim has a name and a label for each of its
// places, and operations name the dim that they work along. Strides are this file's alone.
#pragma once

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

// The labels along one dim: numbers, or names.
using Coordinate = std::variant<std::vector<double>, std::vector<std::string>>;

// A dim: its name and its labels. Copies share the labels.
class Dimension {
 public:
  Dimension(std::string name, Coordinate labels);
  const std::string& name() const { return name_; }
  Index size() const { return size_; }
  const Coordinate& labels() const { return *labels_; }
  // The labels as numbers or as names; UsageError where they are not.
  std::span<const double> numbers() const;
  std::span<const std::string> names() const;
  // One label as text: "1024", "0.1", "ssmax".
  std::string label(Index place) const;
  // The place of a label; numbers agree to 1e-9 relative. Nothing where there is none.
  std::optional<Index> find(double label) const;
  std::optional<Index> find(std::string_view label) const;
  // The dim of some of the places, in that order.
  Dimension take(std::span<const Index> places) const;
  Dimension renamed(std::string name) const;
  // The same name and the same labels.
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

// Finds the labels that both have, in the order of the second. One of the dim `position` stands for
// the rows since the label before it, and is shared where both labels are.
std::vector<SharedPlace> shared_places(const Dimension& first, const Dimension& second);

// A mean over rows.
struct Estimate {
  double value = kUndefined;
  double standard_error = kUndefined;
  std::int64_t rows = 0;
  double degrees_of_freedom = kUndefined;  // of the standard error: of K batches K - 1
};

// Values over the product of the dims, row-major in their order. An undefined cell is NaN.
class LabelledArray {
 public:
  explicit LabelledArray(std::vector<Dimension> dims = {}, std::string unit = "1");

  std::string unit;
  std::optional<double> none;  // the value that stands for "none was found", such as -1
  bool identifier = false;     // the values number something, such as a head: no quantity
  std::string change_of;       // the metric whose change this is; empty for others
  std::vector<double> values;
  std::vector<double> standard_error;  // as values, or empty
  // Of the standard errors: as values, or empty; undefined where nothing is known of them.
  std::vector<double> degrees_of_freedom;
  std::vector<std::int64_t> rows;  // as values, or empty

  const std::vector<Dimension>& dims() const { return dims_; }
  std::vector<std::string> dim_names() const;
  Index size() const { return std::ssize(values); }
  bool has_dim(std::string_view name) const { return axis(name).has_value(); }
  // Whether the dims begin with layer and head.
  bool of_heads() const;
  // Whether a value stands for "none was found".
  bool is_none(double value) const { return none == value; }
  // UsageError where there is no such dim.
  const Dimension& dim(std::string_view name) const;

  // Adds standard errors and their degrees of freedom, all undefined, and numbers of rows, all 0,
  // where there are none.
  LabelledArray& with_standard_errors();
  LabelledArray& with_rows();

  // The place of a cell in `values`, from an index along every dim; UsageError where there is none.
  Index offset(std::span<const Index> cell) const;
  double& operator()(std::initializer_list<Index> cell) { return values[flat(cell)]; }
  double operator()(std::initializer_list<Index> cell) const { return values[flat(cell)]; }
  Estimate at(std::span<const Index> cell) const;
  Estimate at(std::initializer_list<Index> cell) const { return at(as_span(cell)); }
  // The cell at an offset, as each() gives it.
  Estimate at_offset(std::size_t offset) const;
  // Sets the parts that the array has.
  void set(std::span<const Index> cell, const Estimate& estimate);
  void set(std::initializer_list<Index> cell, const Estimate& estimate) {
    set(as_span(cell), estimate);
  }

  // Gives the dim of that name these labels, if there is one; UsageError if they are not as many.
  void relabel(const Dimension& dim);

  // Visits every cell in order: visit(std::span<const Index> cell, std::size_t offset).
  template <class Visit>
  void each(const Visit& visit) const;

  // The cells at one place of a dim, which goes: by its index (negative ones count from the end)
  // or by its label. UsageError where there is none.
  LabelledArray isel(std::string_view dim, Index place) const;
  LabelledArray sel(std::string_view dim, double label) const;
  LabelledArray sel(std::string_view dim, std::string_view label) const;
  // The cells at some places of a dim, in that order.
  LabelledArray take(std::string_view dim, std::span<const Index> places) const;
  // The same cells with the dims in another order, which names each once.
  LabelledArray transposed(std::span<const std::string> order) const;
  LabelledArray renamed(std::string_view from, std::string to) const;
  // The same cells repeated along a further dim, which becomes number `axis` of the dims.
  LabelledArray insert_dim(const Dimension& dim, std::size_t axis) const;
  // Puts every value through `f`, but for the one that says none was found, and drops standard
  // errors and rows.
  LabelledArray map(const std::function<double(double)>& f) const;
  // Puts an array of the other dims, in the same order and of the same sizes, at one place of a
  // dim. Parts that either lacks stay as they are.
  void put(std::string_view dim, Index place, const LabelledArray& slice);
  // Copies every cell of `from` to the cell of the same labels; cells whose labels are not here are
  // left out. The dims have the same names in the same order.
  void put_labelled(const LabelledArray& from);

 private:
  // Which cells of another array the cells of a new one are: those at `base` plus, along each new
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

// Makes an array of these dims, all undefined, with the parts and the meaning of another.
LabelledArray undefined_like(const LabelledArray& other, std::vector<Dimension> dims);

// Subtracts `before` from `after`, with the standard errors of two independent means; undefined
// where one of the two is the value that says none was found. UsageError unless they have as many
// cells.
LabelledArray difference(const LabelledArray& before, const LabelledArray& after);

// Puts arrays of the same dims one after the other along one of them, whose labels are joined.
LabelledArray concat(std::span<const LabelledArray> arrays, std::string_view dim);

// Sets arrays side by side along a new dim, with a label for each, after layer and head; a
// part that is null, or whose dims are not those of the first, stays undefined. UsageError where
// there is no first array.
LabelledArray stack(std::span<const LabelledArray* const> arrays, const Dimension& dim);

// Cuts two arrays of the same dims to the labels that they share, written as the second does.
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
