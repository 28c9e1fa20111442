// Several arrays: put into one another, joined, and matched by their labels.
#include "headgauge/array.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "results/plain_array.hpp"

namespace headgauge {
namespace {

// What a cell becomes that a cell of `slice` is written to. Standard errors and rows stay where the
// slice has none; intervals and p would be of another value.
Estimate written_over(const Estimate& before, const Plain& slice, const Estimate& cell) {
  return slice.known(cell, {.standard_error = before.standard_error,
                            .rows = before.rows,
                            .degrees_of_freedom = before.degrees_of_freedom});
}

TEST_F(ArrayTest, PutWritesOnePlaceAndTheSharedParts) {
  for (int shape = 0; shape < kShapes; ++shape) {
    const Plain plain = some_plain();
    for (Size k = 0; k < plain.dims.size(); ++k) {
      const Plain slice = like(without_dim(plain, k));
      LabelledArray array = plain.array();
      for (Size place = 0; place < plain.sizes[k]; ++place) {
        LabelledArray one = array;
        one.put(plain.dims[k], index(place), slice.array());
        Plain expected = plain;
        expected.fill([&](const Four& p) {
          if (p[k] != place) return plain.at(p);
          return written_over(plain.at(p), slice, slice.at(without(p, k)));
        });
        expect_array(one, expected);
      }
      Plain larger = slice;
      larger.add_dim("more", Numbers{1, 2});
      fill(larger);
      if (plain.sizes[k] > 0 && slice.count() > 0) {
        EXPECT_THROW(array.put(plain.dims[k], 0, larger.array()), UsageError);
      }
    }
  }
}

TEST(LabelledArrayPut, ForgetsTheIntervalAndTheTestOfOtherValues) {
  const LabelledArray whole = [] {
    LabelledArray array({{"run", Numbers{0, 1}}, {"layer", Numbers{4}}});
    array.with_intervals().with_p();
    for (const Index run : {0, 1}) {
      array.set({run, 0}, {.value = 1, .low = 0.5, .high = 1.5, .p = 0.125});
    }
    return array;
  }();
  LabelledArray bare({{"layer", Numbers{4}}});
  bare({0}) = 7;
  LabelledArray put = whole, labelled = whole;
  put.put("run", 1, bare);
  LabelledArray of_run({{"run", Numbers{1}}, {"layer", Numbers{4}}});
  of_run({0, 0}) = 7;
  labelled.put_labelled(of_run);
  for (const LabelledArray& array : {put, labelled}) {
    expect_cell(array.at({0, 0}), whole.at({0, 0}));
    expect_cell(array.at({1, 0}), {.value = 7});
  }
}

// Some of the labels of `plain`, some others, in another order.
TEST_F(ArrayTest, PutLabelledCopiesCellsOfTheSameLabels) {
  for (int shape = 0; shape < kShapes; ++shape) {
    const Plain to = some_plain();
    Plain from;
    for (Size k = 0; k < to.dims.size(); ++k) {
      const bool numbers = std::holds_alternative<Numbers>(to.labels[k]);
      from.add_dim(to.dims[k], some_labels(below(5), numbers ? 0 : 1));
    }
    choose_parts(from);
    fill(from);
    Plain expected = to;
    Plain visit = from;
    visit.fill([&](const Four& f) {
      Plain next = expected;
      next.fill([&](const Four& t) {
        const Estimate& cell = expected.at(t);
        for (Size k = 0; k < to.dims.size(); ++k) {
          const bool equal = std::visit(
              [&](const auto& labels) {
                using List = std::decay_t<decltype(labels)>;
                return labels[f[k]] == std::get<List>(to.labels[k])[t[k]];
              },
              from.labels[k]);
          if (!equal) return cell;
        }
        return written_over(cell, from, from.at(f));
      });
      expected = next;
      return from.at(f);
    });
    LabelledArray array = to.array();
    array.put_labelled(from.array());
    expect_array(array, expected);
  }
}

TEST_F(ArrayTest, StackPutsRunsAfterLayerAndHead) {
  for (int shape = 0; shape < kShapes; ++shape) {
    Plain first;
    const Size axis = below(3);  // so many dims are of heads
    const Names names[] = {{"a", "layer", "b"}, {"layer", "a", "b"}, {"layer", "head", "b"}};
    for (Size k = 0; k < std::max(axis, below(4)); ++k) {
      first.add_dim(names[axis][k], some_labels(below(4), below(2)));
    }
    choose_parts(first);
    fill(first);
    std::vector<Plain> parts{first};
    std::vector<LabelledArray> arrays{first.array()};
    std::vector<bool> there{true};
    Coordinate labels = Names{"0"};
    for (Size more = below(4); more > 0; --more) {
      parts.push_back(like(first));
      arrays.push_back(parts.back().array());
      if (below(4) == 0) {
        std::vector<Dimension> dims = arrays.back().dims();
        dims.insert(dims.begin(), {"more", Numbers{1, 2}});
        arrays.back() = undefined_like(arrays.back(), std::move(dims));
      }
      there.push_back(below(4) != 0);
      std::get<Names>(labels).push_back(std::to_string(more));
    }
    std::vector<const LabelledArray*> given;
    for (Size i = 0; i < arrays.size(); ++i) given.push_back(there[i] ? &arrays[i] : nullptr);
    Plain expected = first;
    expected.sizes = with(first.sizes, axis, arrays.size());
    expected.dims.insert(expected.dims.begin() + index(axis), "run");
    expected.labels.insert(expected.labels.begin() + index(axis), labels);
    expected.fill([&](const Four& p) {
      const Size run = p[axis];
      if (!there[run] || arrays[run].dims().size() != first.dims.size()) return Estimate{};
      return parts[run].known(parts[run].at(without(p, axis)));
    });
    expect_array(stack(given, {"run", labels}), expected);
  }
  EXPECT_THROW(stack({}, {"run", Names{}}), UsageError);
  const LabelledArray* const nothing[] = {nullptr};
  EXPECT_THROW(stack(nothing, {"run", Names{"x"}}), UsageError);
}

// Whether label `j` of the second is one of the first, and which.
std::vector<SharedPlace> shared_in_loops(const Coordinate& first, const Coordinate& second,
                                         bool intervals) {
  std::vector<SharedPlace> shared;
  if (first.index() != second.index()) return shared;
  std::visit(
      [&](const auto& b) {
        const auto& a = std::get<std::decay_t<decltype(b)>>(first);
        for (Size j = 0; j < b.size(); ++j) {
          for (Size i = 0; i < a.size(); ++i) {
            if (a[i] != b[j]) continue;
            const bool both_begin = i == 0 && j == 0;
            const bool same_begin = i > 0 && j > 0 && a[i - 1] == b[j - 1];
            if (!intervals || both_begin || same_begin) shared.push_back({index(i), index(j)});
          }
        }
      },
      second);
  return shared;
}

TEST_F(ArrayTest, SharedPlacesAreThoseOfTheSameLabels) {
  for (int shape = 0; shape < 40 * kShapes; ++shape) {
    const Size kind = below(5) == 0 ? 1 : 0;
    Coordinate first = some_labels(below(6), kind);
    Coordinate second = some_labels(below(6), below(9) == 0 ? 1 - kind : kind);
    const bool sorted = below(2) == 0;
    for (Coordinate* labels : {&first, &second}) {
      std::visit(
          [&](auto& list) {
            if (sorted) std::ranges::sort(list);
            if (!list.empty() && below(2) == 0)
              list.erase(list.begin() + index(below(list.size())));
          },
          *labels);
    }
    for (const std::string name : {"length", "position"}) {
      const auto got = shared_places({name, first}, {name, second});
      const auto expected = shared_in_loops(first, second, name == "position");
      ASSERT_EQ(got.size(), expected.size());
      for (Size i = 0; i < got.size(); ++i) {
        EXPECT_EQ(got[i].first, expected[i].first);
        EXPECT_EQ(got[i].second, expected[i].second);
      }
    }
  }
}

TEST(SharedPlaces, NumbersAgreeToOnePartInABillion) {
  const auto count = [](double a, double b) {
    return shared_places({"x", Numbers{a}}, {"x", Numbers{b}}).size();
  };
  EXPECT_EQ(count(1e-3, 1e-3 * (1 + 5e-10)), 1u);
  EXPECT_EQ(count(1e-3, 1e-3 * (1 - 5e-10)), 1u);
  EXPECT_EQ(count(-1e3, -1e3 * (1 + 5e-10)), 1u);
  EXPECT_EQ(count(1e-3, 1e-3 * (1 + 2e-9)), 0u);
  EXPECT_EQ(count(1e-3, 1e-3 * (1 - 2e-9)), 0u);
  EXPECT_EQ(count(0, 0), 1u);
}

TEST_F(ArrayTest, AlignKeepsTheSharedLabelsOfTheSecond) {
  for (int shape = 0; shape < kShapes; ++shape) {
    Plain first = some_plain(), second;
    for (Size k = 0; k < first.dims.size(); ++k) {
      if (k == 0 && below(2) == 0) first.dims[k] = "position";
      const bool numbers = std::holds_alternative<Numbers>(first.labels[k]);
      Coordinate labels = some_labels(below(5), numbers ? 0 : 1);
      if (numbers) {
        for (double& label : std::get<Numbers>(labels)) label *= 1 + 1e-12;
      }
      second.add_dim(first.dims[k], labels);
    }
    choose_parts(second);
    fill(second);
    // The second may have its dims in another order.
    const std::vector<Size> order = shuffled(first.dims.size());
    Names transposed(order.size());
    for (Size k = 0; k < order.size(); ++k) transposed[k] = second.dims[order[k]];
    const auto [a, b] = align(first.array(), second.array().transposed(transposed));
    Plain of_first = first, of_second = second;
    std::vector<std::vector<SharedPlace>> shared;
    for (Size k = 0; k < first.dims.size(); ++k) {
      Coordinate exact = second.labels[k];
      if (auto* numbers = std::get_if<Numbers>(&exact)) {
        for (double& label : *numbers) {
          for (const double own : std::get<Numbers>(first.labels[k])) {
            if (std::abs(own - label) < 1e-10) label = own;
          }
        }
      }
      shared.push_back(shared_in_loops(first.labels[k], exact, first.dims[k] == "position"));
      const Coordinate labels = std::visit(
          [&](const auto& all) -> Coordinate {
            auto chosen = all;
            chosen.clear();
            for (const SharedPlace& s : shared.back()) chosen.push_back(all[Size(s.second)]);
            return chosen;
          },
          second.labels[k]);
      of_first.sizes[k] = of_second.sizes[k] = shared.back().size();
      of_first.labels[k] = of_second.labels[k] = labels;
    }
    const auto in = [&](Four p, bool of_second_one) {
      for (Size k = 0; k < shared.size(); ++k) {
        const SharedPlace& s = shared[k][p[k]];
        p[k] = Size(of_second_one ? s.second : s.first);
      }
      return p;
    };
    of_first.fill([&](const Four& p) { return first.at(in(p, false)); });
    of_second.fill([&](const Four& p) { return second.at(in(p, true)); });
    expect_array(a, of_first);
    EXPECT_EQ(b.dim_names(), transposed);
    expect_array(b.transposed(second.dims), of_second);
  }
  EXPECT_THROW(align(LabelledArray({{"a", Numbers{1}}}), LabelledArray({{"b", Numbers{1}}})),
               UsageError);
}

}  // namespace
}  // namespace headgauge
