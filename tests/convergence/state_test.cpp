#include "convergence/state.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "test_data.hpp"

namespace headgauge {
namespace {

using testing::TemporaryFolder;

const ScaleReference kReference{1, 2, 0.5, 0.25, "exact"};
const CellErrors kErrors{{0.1, 0.2}, {0.3, 0.4}};

// Keeps one reference and one cell, and reads them in another run of two replicates.
SweepState kept(const ScaleReference& reference, const CellErrors& errors) {
  const TemporaryFolder folder("sweep");
  const auto open = [&](Journal& journal) {
    journal.open(folder.path(), {{"command", "simulate"}}, "--out");
  };
  {
    Journal journal;
    open(journal);
    keep_reference(journal, 1, reference);
    keep_cell(journal, 1, 2, errors);
    journal.flush();
  }
  Journal journal;
  open(journal);
  return find_sweep(journal, 2, 3, 2);
}

TEST(SweepState, IsFoundAsItWasKept) {
  const SweepState state = kept(kReference, kErrors);
  EXPECT_FALSE(state.references[0]);
  ASSERT_TRUE(state.references[1]);
  EXPECT_EQ(state.references[1]->covariance_unit, 2);
  EXPECT_EQ(state.references[1]->mean_error, 0.5);
  EXPECT_EQ(state.references[1]->method, "exact");
  EXPECT_FALSE(state.cells[0][2] || state.cells[1][1]);
  EXPECT_EQ(state.cells[1][2], kErrors);
}

TEST(SweepState, NumbersHaveRanges) {
  for (const double wrong : {-1.0, std::nan(""), HUGE_VAL}) {
    for (double ScaleReference::*norm :
         {&ScaleReference::mean_unit, &ScaleReference::covariance_unit, &ScaleReference::mean_error,
          &ScaleReference::covariance_error}) {
      ScaleReference reference = kReference;
      reference.*norm = wrong;
      EXPECT_THROW(kept(reference, kErrors), DamagedPartError) << wrong;
    }
    for (std::vector<double> CellErrors::*norms : {&CellErrors::mean, &CellErrors::covariance}) {
      CellErrors errors = kErrors;
      (errors.*norms)[1] = wrong;
      EXPECT_THROW(kept(kReference, errors), DamagedPartError) << wrong;
    }
  }
  EXPECT_THROW(kept(kReference, {{0.1}, {0.3}}), DamagedPartError) << "a replicate too few";
  EXPECT_THROW(kept(kReference, {{1, 2, 3}, {1, 2, 3}}), DamagedPartError) << "one too many";
}

}  // namespace
}  // namespace headgauge
