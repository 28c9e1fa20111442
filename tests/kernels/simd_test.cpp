#include "kernels/simd.hpp"

#include <algorithm>

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
  try {
    set_simd_level("avx1024");
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("'avx1024'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("baseline"), std::string::npos) << error.what();
  }
  EXPECT_EQ(simd_level(), "baseline");
  set_simd_level("auto");
}

}  // namespace
}  // namespace headgauge
