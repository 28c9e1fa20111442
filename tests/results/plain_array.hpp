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
  bool errors = false;
  bool rows = false;

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
      if (rows) array.rows.push_back(cell.rows);
    }
    return array;
  }
};

// Everything about an array: dims, labels, cells, and the meaning that Plain::array() gives.
inline void expect_array(const LabelledArray& got, const Plain& expected, bool errors, bool rows) {
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
  ASSERT_EQ(got.standard_error.size(), errors ? expected.count() : 0);
  ASSERT_EQ(got.degrees_of_freedom.size(), errors ? expected.count() : 0);
  ASSERT_EQ(got.rows.size(), rows ? expected.count() : 0);
  for (Size i = 0; i < expected.count(); ++i) {
    EXPECT_TRUE(same(got.values[i], expected.cells[i].value)) << i;
    if (errors) {
      EXPECT_TRUE(same(got.standard_error[i], expected.cells[i].standard_error)) << i;
      EXPECT_TRUE(same(got.degrees_of_freedom[i], expected.cells[i].degrees_of_freedom)) << i;
    }
    if (rows) {
      EXPECT_EQ(got.rows[i], expected.cells[i].rows) << i;
    }
  }
}

inline void expect_array(const LabelledArray& got, const Plain& expected) {
  expect_array(got, expected, expected.errors, expected.rows);
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
    return {number(), number(), static_cast<std::int64_t>(below(50)), number()};
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
    plain.errors = below(2) == 0;
    plain.rows = below(2) == 0;
    fill(plain);
    return plain;
  }

  // The same dims with other cells.
  Plain like(const Plain& plain, bool errors, bool rows) {
    Plain other = plain;
    other.errors = errors;
    other.rows = rows;
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
