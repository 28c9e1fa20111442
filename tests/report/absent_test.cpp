// A build without the report page says so.
#include <gtest/gtest.h>

#include <functional>

#include "headgauge/report.hpp"
#include "results/made_results.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

TEST(WithoutReport, SaysWhatToDo) {
  EXPECT_FALSE(has_report());
  const testing::TemporaryFolder folder("report-absent");
  for (const auto& call :
       {std::function<void()>([&] { draw_figures(made_results()); }),
        std::function<void()>([&] { write_report(made_results(), folder / "report.html"); })}) {
    try {
      call();
      FAIL() << "expected an error";
    } catch (const UnsupportedError& error) {
      EXPECT_NE(std::string(error.what()).find("-DHEADGAUGE_REPORT=OFF"), std::string::npos);
    }
  }
  EXPECT_FALSE(testing::exists(folder / "report.html"));
}

}  // namespace
}  // namespace headgauge
