#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "base/sha256.hpp"
#include "headgauge/checkpoint.hpp"
#include "made_file.hpp"

namespace headgauge {
namespace {

std::string hash(const std::string& text) {
  return sha256_hex(testing::as_bytes(text));
}

// The examples of FIPS 180-4 and of NIST's long test.
TEST(Sha256, AgreesWithThePublishedExamples) {
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Lengths around the places where the padding takes another block, from sha256sum.
TEST(Sha256, PadsEveryLength) {
  EXPECT_EQ(hash(std::string(55, 'x')),
            "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
  EXPECT_EQ(hash(std::string(56, 'x')),
            "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
  EXPECT_EQ(hash(std::string(63, 'x')),
            "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2");
  EXPECT_EQ(hash(std::string(64, 'x')),
            "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
}

TEST(Sha256, OfPiecesIsThatOfTheWhole) {
  const std::string text(300, 'x');
  for (std::size_t size = 1; size < text.size(); ++size) {
    Sha256 sum;
    for (std::size_t at = 0; at < text.size(); at += size) {
      sum.add(std::as_bytes(std::span(text).subspan(at, std::min(size, text.size() - at))));
    }
    EXPECT_EQ(sum.hex(), hash(text)) << size;
  }
}

}  // namespace
}  // namespace headgauge
