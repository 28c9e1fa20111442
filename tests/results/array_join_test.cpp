// Several arrays: put into one another, joined, and matched by their labels.
#include "headgauge/array.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "results/plain_array.hpp"

namespace headgauge {
namespace {

TEST_F(ArrayTest, PutWritesOnePlaceAndTheSharedParts) {
  for (int shape = 0; shape < kShapes; ++shape) {
    const Plain plain = some_plain();
    for (Size k = 0; k < plain.dims.size(); ++k) {
      const Plain slice = like(without_dim(plain, k), below(2) == 0, below(2) == 0);
      LabelledArray array = plain.array();
      for (Size place = 0; place < plain.sizes[k]; ++place) {
        LabelledArray one = array;
        one.put(plain.dims[k], index(place), slice.array());
        Plain expected = plain;
        expected.fill([&](const Four& p) {
          if (p[k] != place) return plain.at(p);
          Estimate cell = slice.at(without(p, k));
          if (!slice.errors) cell.standard_error = plain.at(p).standard_error;
          if (!slice.errors) cell.degrees_of_freedom = plain.at(p).degrees_of_freedom;
          if (!slice.rows) cell.rows = plain.at(p).rows;
          return cell;
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

// Some of the labels of `plain`, some others, in another order.
TEST_F(ArrayTest, PutLabelledCopiesCellsOfTheSameLabels) {
  for (int shape = 0; shape < kShapes; ++shape) {
    const Plain to = some_plain();
    Plain from;
    for (Size k = 0; k < to.dims.size(); ++k) {
      const bool numbers = std::holds_alternative<Numbers>(to.labels[k]);
      from.add_dim(to.dims[k], some_labels(below(5), numbers ? 0 : 1));
    }
    from.errors = below(2) == 0;
    from.rows = below(2) == 0;
    fill(from);
    Plain expected = to;
    Plain visit = from;
    visit.fill([&](const Four& f) {
      Plain next = expected;
      next.fill([&](const Four& t) {
        Estimate cell = expected.at(t);
        for (Size k = 0; k < to.dims.size(); ++k) {
          const bool equal = std::visit(
              [&](const auto& labels) {
                using List = std::decay_t<decltype(labels)>;
                return labels[f[k]] == std::get<List>(to.labels[k])[t[k]];
              },
              from.labels[k]);
          if (!equal) return cell;
        }
        cell.value = from.at(f).value;
        if (from.errors) cell.standard_error = from.at(f).standard_error;
        if (from.errors) cell.degrees_of_freedom = from.at(f).degrees_of_freedom;
        if (from.rows) cell.rows = from.at(f).rows;
        return cell;
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
    first.errors = below(2) == 0;
    first.rows = below(2) == 0;
    fill(first);
    std::vector<Plain> parts{first};
    std::vector<LabelledArray> arrays{first.array()};
    std::vector<bool> there{true};
    Coordinate labels = Names{"0"};
    for (Size more = below(4); more > 0; --more) {
      parts.push_back(like(first, below(2) == 0, below(2) == 0));
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
      if (!there[run] || arrays[run].dims().size() != first.dims.size()) {
        return Estimate{kUndefined, kUndefined, 0};
      }
      Estimate cell = parts[run].at(without(p, axis));
      if (!parts[run].errors) cell.standard_error = kUndefined;
      if (!parts[run].errors) cell.degrees_of_freedom = kUndefined;
      if (!parts[run].rows) cell.rows = 0;
      return cell;
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
    second.errors = below(2) == 0;
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
