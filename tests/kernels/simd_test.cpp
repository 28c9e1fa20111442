#include "kernels/simd.hpp"

#include "faults.hpp"
#include "kernels/levels.hpp"

namespace headgauge {
namespace {

TEST(Simd, ListsItsLevelsBestFirstAndEndsWithTheBaseline) {
  const auto levels = simd_levels();
  ASSERT_FALSE(levels.empty());
  EXPECT_EQ(levels.back(), "baseline");
  set_simd_level("auto");
  EXPECT_EQ(simd_level(), levels.front());
}

TEST(Simd, EveryLevelCanBeChosenAndIsTheOneThatRuns) {
  for (const std::string& level : simd_levels()) {
    set_simd_level(level);
    EXPECT_EQ(simd_level(), level);
  }
  set_simd_level("auto");
}

TEST(Simd, RefusesALevelThatIsNotThereAndKeepsTheOldOne) {
  set_simd_level("baseline");
  const std::string said = thrown<UsageError>([] { set_simd_level("avx1024"); });
  expect_part(said, "'avx1024'");
  expect_part(said, "baseline");
  EXPECT_EQ(simd_level(), "baseline");
  set_simd_level("auto");
}

}  // namespace
}  // namespace headgauge
