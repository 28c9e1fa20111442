// One array: its cells, its labels, and parts of it.
#include "headgauge/array.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "faults.hpp"
#include "results/plain_array.hpp"

namespace headgauge {
namespace {

TEST_F(ArrayTest, CellsAreRowMajorAndStartUndefined) {
  for (int shape = 0; shape < kShapes; ++shape) {
    const Plain plain = some_plain();
    LabelledArray array = plain.array();
    EXPECT_EQ(array.size(), index(plain.count()));
    const LabelledArray fresh(array.dims());
    EXPECT_EQ(fresh.values.size(), plain.count());
    EXPECT_TRUE(std::ranges::all_of(fresh.values, [](double v) { return std::isnan(v); }));
    EXPECT_EQ(fresh.unit, "1");
    EXPECT_TRUE(fresh.standard_error.empty() && fresh.low.empty() && fresh.high.empty());
    EXPECT_TRUE(fresh.p.empty() && fresh.rows.empty());
    Plain expected = plain;
    expected.fill([&](const Four& p) {
      std::vector<Index> cell;
      for (Size k = 0; k < plain.dims.size(); ++k) cell.push_back(index(p[k]));
      const Estimate got = array.at(cell);
      expect_cell(got, plain.known(plain.at(p)));
      expect_cell(array.at_offset(static_cast<Size>(array.offset(cell))), got);
      const Estimate other = some_cell();
      array.set(cell, other);
      return other;
    });
    expect_array(array, expected);
  }
}

TEST(Array, IsOfNoCellsOrOfNoMoreThanFit) {
  std::vector<Dimension> dims;
  for (int k = 0; k < 20; ++k) {
    dims.emplace_back("d" + std::to_string(k), std::vector<double>(10, 0.0));
  }
  EXPECT_THROW(LabelledArray{dims}, ResourceError) << "10^20 cells are beyond 64 bits";
  dims.emplace(dims.begin(), "none", std::vector<double>());
  const LabelledArray empty(dims);
  EXPECT_EQ(empty.size(), 0);
  empty.each([](std::span<const Index>, std::size_t) { FAIL() << "there is no cell"; });
}

TEST_F(ArrayTest, EachVisitsEveryCellOnceInOrder) {
  for (int shape = 0; shape < kShapes; ++shape) {
    const Plain plain = some_plain();
    std::vector<std::vector<Index>> expected, got;
    Plain copy = plain;
    copy.fill([&](const Four& p) {
      std::vector<Index> cell;
      for (Size k = 0; k < plain.dims.size(); ++k) cell.push_back(index(p[k]));
      expected.push_back(cell);
      return Estimate{};
    });
    plain.array().each([&](std::span<const Index> cell, Size offset) {
      EXPECT_EQ(offset, got.size());
      got.emplace_back(cell.begin(), cell.end());
    });
    EXPECT_EQ(got, expected);
  }
}

TEST_F(ArrayTest, IselTakesOnePlaceFromEitherEnd) {
  for (int shape = 0; shape < kShapes; ++shape) {
    const Plain plain = some_plain();
    const LabelledArray array = plain.array();
    for (Size k = 0; k < plain.dims.size(); ++k) {
      const Index size = index(plain.sizes[k]);
      for (Size place = 0; place < plain.sizes[k]; ++place) {
        Plain expected = without_dim(plain, k);
        expected.fill([&](const Four& p) { return plain.at(with(p, k, place)); });
        expect_array(array.isel(plain.dims[k], index(place)), expected);
        expect_array(array.isel(plain.dims[k], index(place) - size), expected);
      }
      EXPECT_THROW(array.isel(plain.dims[k], size), UsageError);
      EXPECT_THROW(array.isel(plain.dims[k], -size - 1), UsageError);
    }
    EXPECT_THROW(array.isel("e", 0), UsageError);
  }
}

TEST_F(ArrayTest, SelTakesTheLabel) {
  for (int shape = 0; shape < kShapes; ++shape) {
    const Plain plain = some_plain();
    const LabelledArray array = plain.array();
    for (Size k = 0; k < plain.dims.size(); ++k) {
      for (Size place = 0; place < plain.sizes[k]; ++place) {
        Plain expected = without_dim(plain, k);
        expected.fill([&](const Four& p) { return plain.at(with(p, k, place)); });
        if (const auto* numbers = std::get_if<Numbers>(&plain.labels[k])) {
          expect_array(array.sel(plain.dims[k], (*numbers)[place]), expected);
          expect_array(array.sel(plain.dims[k], (*numbers)[place] * (1 + 5e-10)), expected);
          EXPECT_THROW(array.sel(plain.dims[k], "n0"), UsageError);
        } else {
          expect_array(array.sel(plain.dims[k], std::get<Names>(plain.labels[k])[place]), expected);
          EXPECT_THROW(array.sel(plain.dims[k], 0.0), UsageError);
        }
      }
    }
  }
  const LabelledArray array({{"length", Numbers{32, 64}}, {"normalizer", Names{"relu"}}});
  EXPECT_EQ(thrown<UsageError>([&] { array.sel("length", 33.0); }),
            "results: expected a label of \"length\", found 33");
  EXPECT_THROW(array.sel("length", 32 * (1 + 2e-9)), UsageError);
  EXPECT_EQ(thrown<UsageError>([&] { array.sel("normalizer", "rel"); }),
            "results: expected a label of \"normalizer\", found rel");
}

TEST_F(ArrayTest, TakeKeepsTheOrderAndRepeats) {
  for (int shape = 0; shape < kShapes; ++shape) {
    const Plain plain = some_plain();
    for (Size k = 0; k < plain.dims.size(); ++k) {
      std::vector<Size> places(plain.sizes[k] == 0 ? 0 : below(5));
      for (Size& place : places) place = below(plain.sizes[k]);
      Plain expected = plain;
      expected.sizes[k] = places.size();
      expected.labels[k] = std::visit(
          [&](const auto& all) -> Coordinate {
            auto chosen = all;
            chosen.clear();
            for (const Size place : places) chosen.push_back(all[place]);
            return chosen;
          },
          plain.labels[k]);
      expected.fill([&](Four p) {
        p[k] = places[p[k]];
        return plain.at(p);
      });
      const std::vector<Index> indices(places.begin(), places.end());
      expect_array(plain.array().take(plain.dims[k], indices), expected);
    }
  }
}

TEST_F(ArrayTest, TransposedNamesTheDimsInAnyOrder) {
  for (int shape = 0; shape < kShapes; ++shape) {
    const Plain plain = some_plain();
    const std::vector<Size> order = shuffled(plain.dims.size());
    Plain expected = plain;
    for (Size k = 0; k < order.size(); ++k) {
      expected.sizes[k] = plain.sizes[order[k]];
      expected.dims[k] = plain.dims[order[k]];
      expected.labels[k] = plain.labels[order[k]];
    }
    expected.fill([&](const Four& p) {
      Four from{};
      for (Size k = 0; k < order.size(); ++k) from[order[k]] = p[k];
      return plain.at(from);
    });
    expect_array(plain.array().transposed(expected.dims), expected);
    if (plain.dims.empty()) continue;
    Names fewer(expected.dims.begin() + 1, expected.dims.end());
    EXPECT_THROW(plain.array().transposed(fewer), UsageError);
    fewer.push_back("e");
    EXPECT_THROW(plain.array().transposed(fewer), UsageError);
  }
}

TEST_F(ArrayTest, RenamedAndRelabelledKeepTheCells) {
  for (int shape = 0; shape < kShapes; ++shape) {
    const Plain plain = some_plain();
    const LabelledArray array = plain.array();
    for (Size k = 0; k < plain.dims.size(); ++k) {
      Plain expected = plain;
      expected.dims[k] = "other";
      expect_array(array.renamed(plain.dims[k], "other"), expected);
      expected = plain;
      expected.labels[k] = some_labels(plain.sizes[k], below(2));
      LabelledArray relabelled = array;
      relabelled.relabel({plain.dims[k], expected.labels[k]});
      expect_array(relabelled, expected);
      EXPECT_THROW(relabelled.relabel({plain.dims[k], some_labels(plain.sizes[k] + 1, 0)}),
                   UsageError);
      expect_array(relabelled, expected);
    }
    LabelledArray unchanged = array;
    unchanged.relabel({"other", Numbers{1}});
    expect_array(unchanged, plain);
    EXPECT_THROW(array.renamed("e", "f"), UsageError);
  }
}

TEST_F(ArrayTest, MapLeavesValuesAlone) {
  for (int shape = 0; shape < kShapes; ++shape) {
    const Plain plain = some_plain();
    Plain expected = plain;
    expected.errors = expected.intervals = expected.tested = expected.rows = false;
    expected.fill([&](const Four& p) { return Estimate{3 * plain.at(p).value + 1}; });
    expect_array(plain.array().map([](double value) { return 3 * value + 1; }), expected);
  }
}

TEST(LabelledArrayErrors, SayWhichIndexAlongWhichDim) {
  LabelledArray array({{"layer", Numbers{4, 9}}, {"length", Numbers{8, 16, 32}}});
  array({1, 2}) = 4;
  EXPECT_EQ(array.values[5], 4);
  EXPECT_EQ(thrown<UsageError>([&] { array({0}); }), "results: expected 2 indices, found 1");
  EXPECT_EQ(thrown<UsageError>([&] { array({0, 0, 0}); }), "results: expected 2 indices, found 3");
  EXPECT_EQ(thrown<UsageError>([&] {
              array({0, 3});
            }),
            "results: expected an index below 3 along \"length\", found 3");
  EXPECT_EQ(thrown<UsageError>([&] {
              array({-1, 0});
            }),
            "results: expected an index below 2 along \"layer\", found -1");
  EXPECT_EQ(thrown<UsageError>([&] { array.dim("head"); }),
            "results: expected a dim \"head\", found none");
  EXPECT_EQ(thrown<UsageError>([&] { array.isel("layer", -3); }),
            "results: expected an index below 2 along \"layer\", found -3");
  EXPECT_EQ(thrown<UsageError>([&] {
              array.take("length", std::vector<Index>{0, 3});
            }),
            "results: expected an index below 3 along \"length\", found 3");
  EXPECT_EQ(thrown<UsageError>([&] { array.put("layer", 2, array.isel("layer", 0)); }),
            "results: expected an index below 2 along \"layer\", found 2");
}

// As many cells are not enough: a 2 x 3 would be scrambled into a 3 x 2.
TEST(LabelledArrayErrors, PutTakesTheShapeThatIsThere) {
  LabelledArray array(
      {{"run", Numbers{0, 1}}, {"layer", Numbers{4, 9}}, {"length", Numbers{8, 16, 32}}});
  const LabelledArray turned({{"length", Numbers{8, 16, 32}}, {"layer", Numbers{4, 9}}});
  EXPECT_EQ(thrown<UsageError>([&] { array.put("run", 0, turned); }),
            "results: expected an array of 2 x 3, found one of 3 x 2");
}

TEST(LabelledArrayDifference, LeavesOutWhatWasNotFound) {
  LabelledArray before({{"head", Numbers{0, 1, 2}}}), after = before;
  before.values = {5, -1, 2};
  after.values = {7, 3, kUndefined};
  after.none = -1;
  before.with_standard_errors().standard_error = {3, 3, 3};
  after.with_standard_errors().standard_error = {4, 4, 4};
  const LabelledArray change = difference(before, after);
  EXPECT_EQ(change({0}), 2);
  EXPECT_EQ(change.standard_error[0], 5);
  EXPECT_TRUE(std::isnan(change({1})) && std::isnan(change.standard_error[1]));
  EXPECT_TRUE(std::isnan(change({2})));
  EXPECT_THROW(difference(before, LabelledArray({{"head", Numbers{0}}})), UsageError);
}

TEST(LabelledArrayParts, AreAddedUndefined) {
  LabelledArray array({{"layer", Numbers{0, 1}}});
  array.set({1}, {2.5, 0.5, 7});
  EXPECT_TRUE(array.standard_error.empty() && array.rows.empty()) << "sets the parts it has";
  EXPECT_TRUE(array.low.empty() && array.high.empty() && array.p.empty());
  EXPECT_EQ(array({1}), 2.5);
  array.with_standard_errors().with_rows();
  ASSERT_EQ(array.standard_error.size(), 2u);
  EXPECT_TRUE(std::isnan(array.standard_error[1]));
  EXPECT_EQ(array.rows, (std::vector<std::int64_t>{0, 0}));
  ASSERT_EQ(array.degrees_of_freedom.size(), 2u);
  array.set({0}, {1, 0.25, 3, 15});
  array.with_standard_errors().with_rows();
  EXPECT_EQ(array.at({0}).degrees_of_freedom, 15);
  EXPECT_EQ(array.at({0}).standard_error, 0.25);
  EXPECT_EQ(array.at({0}).rows, 3);
  array.with_intervals().with_p();
  EXPECT_TRUE(std::isnan(array.at({0}).low) && std::isnan(array.at({0}).high));
  EXPECT_TRUE(std::isnan(array.at({0}).p));
  array.set({0}, {.value = 1, .low = 0.5, .high = 1.5, .p = 0.125});
  array.with_intervals().with_p();
  expect_cell(array.at({0}), {.value = 1, .low = 0.5, .high = 1.5, .p = 0.125});
  EXPECT_TRUE(array.has_dim("layer") && !array.has_dim("head"));
}

TEST(LabelledArrayParts, NewErrorsForgetWhatWasKnownOfOldOnes) {
  LabelledArray array({{"layer", Numbers{0, 1}}}), bare({{"layer", Numbers{0}}});
  array.with_standard_errors().degrees_of_freedom = {3, 4};
  bare.standard_error = {0.5};
  array.put_labelled(bare);
  EXPECT_TRUE(std::isnan(array.degrees_of_freedom[0]));
  EXPECT_EQ(array.degrees_of_freedom[1], 4);
}

TEST(LabelledArrayParts, AnIntervalHasTwoEnds) {
  EXPECT_FALSE(Estimate{}.has_interval());
  EXPECT_FALSE((Estimate{.value = 1, .low = 0}.has_interval()));
  EXPECT_FALSE((Estimate{.value = 1, .high = 2}.has_interval()));
  EXPECT_TRUE((Estimate{.value = 1, .low = 0, .high = 2}.has_interval()));
}

TEST(LabelledArrayParts, ADifferenceHasNoIntervalAndNoTest) {
  LabelledArray array({{"layer", Numbers{0}}});
  array.with_standard_errors().with_intervals().with_p();
  array.set({0}, {.value = 1, .standard_error = 0.5, .low = 0, .high = 2, .p = 0.1});
  const LabelledArray change = difference(array, array);
  EXPECT_EQ(change.standard_error.size(), 1u);
  EXPECT_TRUE(change.low.empty() && change.high.empty() && change.p.empty());
}

TEST(LabelledArrayParts, DifferencesTakeWelchsDegreesOfFreedom) {
  LabelledArray a({{"layer", Numbers{0, 1, 2, 3}}}), b = a;
  a.with_standard_errors();
  b.with_standard_errors();
  const auto set = [](LabelledArray& array, Index i, double error, double freedom) {
    array.set({i}, {1, error, 0, freedom});
  };
  set(a, 0, 1, 3), set(b, 0, 1, 3);
  set(a, 1, 1, 3), set(b, 1, 2, 15);  // Welch's are 17.9: of few batches there are no more than 6
  set(a, 2, 1, 3), set(b, 2, 2, kUndefined);
  set(a, 3, 0, 3), set(b, 3, 2, 15);
  const LabelledArray change = difference(a, b);
  EXPECT_NEAR(change.degrees_of_freedom[0], 6, 1e-12);
  EXPECT_NEAR(change.degrees_of_freedom[1], 6, 1e-12);
  EXPECT_TRUE(std::isnan(change.degrees_of_freedom[2]));
  EXPECT_EQ(change.degrees_of_freedom[3], 15);
}

TEST(LabelledArrayParts, OfHeadsBeginsWithLayerAndHead) {
  const Dimension layer("layer", Numbers{0}), head("head", Numbers{0}),
      length("length", Numbers{8});
  EXPECT_TRUE(LabelledArray({layer, head}).of_heads());
  EXPECT_TRUE(LabelledArray({layer, head, length}).of_heads());
  EXPECT_FALSE(LabelledArray({head, layer}).of_heads());
  EXPECT_FALSE(LabelledArray({length, layer, head}).of_heads());
  EXPECT_FALSE(LabelledArray({layer}).of_heads());
}

TEST(DimensionLabels, AreNumbersOrNames) {
  const Dimension lengths("length", Numbers{32, 0.1, 1e6});
  EXPECT_EQ(lengths.label(0), "32");
  EXPECT_EQ(lengths.label(1), "0.1");
  EXPECT_EQ(lengths.label(2), "1e+06");
  EXPECT_EQ(lengths.find(0.1 + 1e-12), 1);
  EXPECT_EQ(lengths.find(0.2), std::nullopt);
  EXPECT_EQ(lengths.find("32"), std::nullopt);
  EXPECT_EQ(thrown<UsageError>([&] { lengths.names(); }),
            "results: expected names in the coordinate \"length\", found numbers");
  const Dimension normalizers("normalizer", Names{"original", "ssmax"});
  EXPECT_EQ(normalizers.label(1), "ssmax");
  EXPECT_EQ(normalizers.find("ssmax"), 1);
  EXPECT_EQ(normalizers.find("ss"), std::nullopt);
  EXPECT_EQ(normalizers.find(0.0), std::nullopt);
  EXPECT_EQ(thrown<UsageError>([&] { normalizers.numbers(); }),
            "results: expected numbers in the coordinate \"normalizer\", found names");
  EXPECT_EQ(normalizers, Dimension("normalizer", Names{"original", "ssmax"}));
  EXPECT_NE(normalizers, normalizers.renamed("other"));
  EXPECT_NE(normalizers, normalizers.take(std::vector<Index>{1, 0}));
}

TEST(DimensionLabels, AreWrittenInFewWords) {
  EXPECT_EQ(labels_text(Numbers{0, 1, 2, 3, 4, 5, 7}), "0-5, 7");
  EXPECT_EQ(labels_text(Numbers{1, 2, 5}), "1, 2, 5");
  EXPECT_EQ(labels_text(Numbers{2, 4, 8, 16, 32, 64, 128, 256}), "2, 4, 8, 16, 32, 64 and 2 more");
  EXPECT_EQ(labels_text(Numbers{2, 4, 8, 16, 32, 64, 128}), "2, 4, 8, 16, 32, 64, 128");
  EXPECT_EQ(labels_text(Names{"a", "b"}), "a, b");
  EXPECT_EQ(labels_text(Numbers{}), "none");
}

}  // namespace
}  // namespace headgauge
