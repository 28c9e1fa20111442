// Labelled arrays written out in plain loops, which share no code with the library.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>

#include "faults.hpp"
#include "headgauge/array.hpp"

namespace headgauge {

using Numbers = std::vector<double>;
using Names = std::vector<std::string>;
using Size = std::size_t;
using Four = std::array<Size, 4>;  // sizes or places along at most four dims

inline Index index(Size i) {
  return static_cast<Index>(i);
}

// What an array should hold, in plain loops over four dims; those that it lacks have one place.
struct Plain {
  Four sizes{1, 1, 1, 1};
  Names dims;
  std::vector<Coordinate> labels;
  std::vector<Estimate> cells;
  // Which parts the array has: the others of a cell are not in it.
  bool errors = false, intervals = false, tested = false, rows = false;

  Size count() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
  const Estimate& at(const Four& p) const {
    return cells[((p[0] * sizes[1] + p[1]) * sizes[2] + p[2]) * sizes[3] + p[3]];
  }
  void add_dim(const std::string& name, Coordinate of) {
    sizes[dims.size()] = std::visit([](const auto& list) { return list.size(); }, of);
    dims.push_back(name);
    labels.push_back(std::move(of));
  }
  // The cells in order, each from its place.
  void fill(const std::function<Estimate(const Four&)>& cell) {
    cells.clear();
    for (Size a = 0; a < sizes[0]; ++a) {
      for (Size b = 0; b < sizes[1]; ++b) {
        for (Size c = 0; c < sizes[2]; ++c) {
          for (Size d = 0; d < sizes[3]; ++d) cells.push_back(cell({a, b, c, d}));
        }
      }
    }
  }
  // The array of these cells, its parts written one by one.
  LabelledArray array() const {
    std::vector<Dimension> of;
    for (Size k = 0; k < dims.size(); ++k) of.emplace_back(dims[k], labels[k]);
    LabelledArray array(of, "keys");
    array.none = -1;
    array.identifier = true;
    array.change_of = "critical_n";
    array.values.clear();
    for (const Estimate& cell : cells) {
      array.values.push_back(cell.value);
      if (errors) array.standard_error.push_back(cell.standard_error);
      if (errors) array.degrees_of_freedom.push_back(cell.degrees_of_freedom);
      if (intervals) array.low.push_back(cell.low);
      if (intervals) array.high.push_back(cell.high);
      if (tested) array.p.push_back(cell.p);
      if (rows) array.rows.push_back(cell.rows);
    }
    return array;
  }
  // A cell with only the parts that the array has, and those of `others` besides.
  Estimate known(Estimate cell, const Estimate& others = {}) const {
    if (!errors) cell.standard_error = others.standard_error;
    if (!errors) cell.degrees_of_freedom = others.degrees_of_freedom;
    if (!intervals) cell.low = others.low;
    if (!intervals) cell.high = others.high;
    if (!tested) cell.p = others.p;
    if (!rows) cell.rows = others.rows;
    return cell;
  }
};

inline void expect_cell(const Estimate& got, const Estimate& expected) {
  EXPECT_TRUE(same(got.value, expected.value));
  EXPECT_TRUE(same(got.standard_error, expected.standard_error));
  EXPECT_TRUE(same(got.degrees_of_freedom, expected.degrees_of_freedom));
  EXPECT_TRUE(same(got.low, expected.low));
  EXPECT_TRUE(same(got.high, expected.high));
  EXPECT_TRUE(same(got.p, expected.p));
  EXPECT_EQ(got.rows, expected.rows);
}

// Everything about an array: dims, labels, cells, and the meaning that Plain::array() gives.
inline void expect_array(const LabelledArray& got, const Plain& expected) {
  ASSERT_EQ(got.dim_names(), expected.dims);
  for (Size k = 0; k < expected.dims.size(); ++k) {
    EXPECT_EQ(got.dims()[k].labels(), expected.labels[k]) << expected.dims[k];
    EXPECT_EQ(got.dims()[k].size(), index(expected.sizes[k]));
  }
  EXPECT_EQ(got.unit, "keys");
  EXPECT_EQ(got.none, -1);
  EXPECT_TRUE(got.identifier);
  EXPECT_EQ(got.change_of, "critical_n");
  ASSERT_EQ(expected.cells.size(), expected.count());
  ASSERT_EQ(got.values.size(), expected.count());
  const auto size = [&](bool there) { return there ? expected.count() : 0; };
  ASSERT_EQ(got.standard_error.size(), size(expected.errors));
  ASSERT_EQ(got.degrees_of_freedom.size(), size(expected.errors));
  ASSERT_EQ(got.low.size(), size(expected.intervals));
  ASSERT_EQ(got.high.size(), size(expected.intervals));
  ASSERT_EQ(got.p.size(), size(expected.tested));
  ASSERT_EQ(got.rows.size(), size(expected.rows));
  for (Size i = 0; i < expected.count(); ++i) {
    SCOPED_TRACE(i);
    const auto part = [&](const auto& numbers) {
      return numbers.empty() ? kUndefined : numbers[i];
    };
    expect_cell({.value = got.values[i],
                 .standard_error = part(got.standard_error),
                 .rows = got.rows.empty() ? 0 : got.rows[i],
                 .degrees_of_freedom = part(got.degrees_of_freedom),
                 .low = part(got.low),
                 .high = part(got.high),
                 .p = part(got.p)},
                expected.known(expected.cells[i]));
  }
}

// Without dim `k`; with it, at `place`.
inline Four without(const Four& p, Size k, Size last = 0) {
  Four left{last, last, last, last};
  for (Size j = 0; j < 3; ++j) left[j] = p[j < k ? j : j + 1];
  return left;
}
inline Four with(const Four& p, Size k, Size place) {
  Four all{};
  for (Size j = 0; j < 4; ++j) all[j] = j < k ? p[j] : j == k ? place : p[j - 1];
  return all;
}

class ArrayTest : public ::testing::Test {
 protected:
  // A number below `limit`.
  Size below(Size limit) { return limit == 0 ? 0 : draw_() % limit; }

  Coordinate some_labels(Size count, Size kind) {
    if (kind % 2 == 0) {
      Numbers numbers;
      for (Size i = 0; i < count; ++i) numbers.push_back(0.1 * static_cast<double>(i * i) - 0.3);
      std::ranges::shuffle(numbers, draw_);
      return numbers;
    }
    Names names;
    for (Size i = 0; i < count; ++i) names.push_back("n" + std::to_string(i));
    std::ranges::shuffle(names, draw_);
    return names;
  }

  Estimate some_cell() {
    const auto number = [&] { return below(9) == 0 ? kUndefined : std::ldexp(draw_() % 997, -5); };
    return {.value = number(),
            .standard_error = number(),
            .rows = static_cast<std::int64_t>(below(50)),
            .degrees_of_freedom = number(),
            .low = number(),
            .high = number(),
            .p = number()};
  }

  void choose_parts(Plain& plain) {
    for (bool* part : {&plain.errors, &plain.intervals, &plain.tested, &plain.rows}) {
      *part = below(2) == 0;
    }
  }

  void fill(Plain& plain) {
    plain.fill([&](const Four&) { return some_cell(); });
  }

  // Of at most `most` dims, each of `least` to 3 places.
  Plain some_plain(Size most = 4, Size least = 0) {
    Plain plain;
    const Size dims = below(most + 1);
    for (Size k = 0; k < dims; ++k) {
      plain.add_dim(std::string(1, "dacb"[k]), some_labels(least + below(4 - least), below(2)));
    }
    choose_parts(plain);
    fill(plain);
    return plain;
  }

  // The same dims with other cells and parts.
  Plain like(const Plain& plain) {
    Plain other = plain;
    choose_parts(other);
    fill(other);
    return other;
  }

  std::vector<Size> shuffled(Size count) {
    std::vector<Size> order(count);
    for (Size i = 0; i < count; ++i) order[i] = i;
    std::ranges::shuffle(order, draw_);
    return order;
  }

  static Plain without_dim(const Plain& plain, Size k) {
    Plain left = plain;
    left.sizes = without(plain.sizes, k, 1);
    left.dims.erase(left.dims.begin() + index(k));
    left.labels.erase(left.labels.begin() + index(k));
    return left;
  }

  static constexpr int kShapes = 150;
  std::mt19937 draw_{11};
};

}  // namespace headgauge
