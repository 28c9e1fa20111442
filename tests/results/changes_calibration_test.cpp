// Files that differ by chance alone: how often `diff` lists anything at all.
#include <gtest/gtest.h>

#include <cmath>

#include "headgauge/diff.hpp"
#include "statistics/inference.hpp"
#include "statistics/worlds.hpp"

namespace headgauge {
namespace {

struct Shape {
  Index heads = 12;
  Index lengths = 3;
  double shared = 0;  // the share of a batch's variance that all heads and lengths have in common
  double spread = 1;  // of the batches
  double shift = 0;   // of the first head, in spreads
};

// A run whose values are means over so many batches.
Results drawn_run(World& w, Index batches, const Shape& shape) {
  Results r;
  std::vector<double> heads(shape.heads), lengths(shape.lengths);
  for (Index i = 0; i < shape.heads; ++i) heads[i] = static_cast<double>(i);
  for (Index i = 0; i < shape.lengths; ++i) lengths[i] = std::ldexp(256, static_cast<int>(i));
  r.set_coord("layer", std::vector<double>{0});
  r.set_coord("head", heads);
  r.set_coord("length", lengths);
  const std::vector<double> common = w.normals(batches);
  LabelledArray& m = r.add_metric("m", {"layer", "head", "length"}, "1");
  m.with_standard_errors();
  m.each([&](std::span<const Index> cell, std::size_t) {
    std::vector<double> values = w.normals(batches, cell[1] == 0 ? shape.shift : 0);
    for (Index k = 0; k < batches; ++k) {
      values[k] = shape.spread *
                  (std::sqrt(shape.shared) * common[k] + std::sqrt(1 - shape.shared) * values[k]);
    }
    const MeanWithError mean = mean_with_error(values);
    m.set(cell, {mean.value, mean.standard_error, 0, mean.degrees_of_freedom});
  });
  return r;
}

Index batches_of(World& w) {
  return 4 + static_cast<Index>(13 * w.uniform());
}

double share_of_files_with_changes(const Shape& old_shape, const Shape& new_shape, bool as_many) {
  return share_of_worlds([&](World& w) {
    const Index batches = batches_of(w);
    const Results before = drawn_run(w, batches, old_shape);
    const Results after = drawn_run(w, as_many ? batches : batches_of(w), new_shape);
    return list_changes(diff(before, after)).changed > 0;
  });
}

TEST(ChangesCalibration, FilesThatDifferByChanceHaveNothingListed) {
  for (const double shared : {0., .5, .9}) {
    Shape shape;
    shape.shared = shared;
    for (const bool as_many : {true, false}) {
      EXPECT_LE(share_of_files_with_changes(shape, shape, as_many), .05 + three_errors(.05))
          << shared << " " << as_many;
    }
  }
}

TEST(ChangesCalibration, NorWhereTheBatchesOfOneVaryMore) {
  Shape wide;
  wide.spread = 1.5;
  for (const bool as_many : {true, false}) {
    EXPECT_LE(share_of_files_with_changes(Shape{}, wide, as_many), .05 + three_errors(.05))
        << as_many;
  }
}

TEST(ChangesCalibration, WhatChangedIsListed) {
  Shape changed;
  changed.shift = 3;
  const auto listed = [&](Index batches) {
    return share_of_worlds([&](World& w) {
      const ChangeList list =
          list_changes(diff(drawn_run(w, batches, Shape{}), drawn_run(w, batches, changed)));
      return list.changed > 0 && list.measured[0].labels[1].second == "0";
    });
  };
  EXPECT_GT(listed(16), .99);
  EXPECT_GT(listed(6), .5) << "with few batches only the largest changes are beyond chance";
}

}  // namespace
}  // namespace headgauge
