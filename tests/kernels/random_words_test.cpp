#include "kernels/random_words.hpp"

#include <gtest/gtest.h>

#include "kernels/levels.hpp"

namespace headgauge {
namespace {

class RandomWords : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(RandomWords);

TEST_P(RandomWords, AreThoseOfTheBlocksOneByOne) {
  const RandomStream stream(0x123456789abcdef0, RandomDomain::separability_pairing, 0xfffffff1, 77);
  for (const Index count : {0, 1, 4, 5, 63, 64, 66, 1000}) {
    std::vector<std::uint32_t> words(count + 3, 9);
    random_words(stream, std::span(words).first(count));
    for (Index i = 0; i < count; ++i) {
      ASSERT_EQ(words[i], stream.block(static_cast<std::uint32_t>(i / 4))[i % 4])
          << i << " of " << count;
    }
    for (Index i = count; i < count + 3; ++i) EXPECT_EQ(words[i], 9) << "beyond the end";
  }
}

}  // namespace
}  // namespace headgauge
