// A build without the report page says so.
#include <gtest/gtest.h>

#include "faults.hpp"
#include "headgauge/report.hpp"
#include "results/made_results.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

TEST(WithoutReport, SaysWhatToDo) {
  EXPECT_FALSE(has_report());
  const testing::TemporaryFolder folder("report-absent");
  const auto refused = [](const auto& call) {
    expect_part(thrown<UnsupportedError>(call), "-DHEADGAUGE_REPORT=OFF");
  };
  refused([] { draw_figures(made_results()); });
  refused([&] { write_report(made_results(), folder / "report.html"); });
  EXPECT_FALSE(testing::exists(folder / "report.html"));
}

}  // namespace
}  // namespace headgauge
