// 16-bit elements widen exactly: every one of the 65536 against arithmetic on the fields of the
// format, at every SIMD level.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "headgauge/checkpoint.hpp"
#include "kernels/simd.hpp"
#include "made_file.hpp"

namespace headgauge {
namespace {

using testing::expect_error;

// (-1)^s 2^(e - bias) (1 + m / 2^width), or the subnormal or special value.
double field_value(std::uint16_t bits, int exponent_bits, int fraction_bits) {
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  double value;
  if (exponent == (1 << exponent_bits) - 1) {
    value = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                          : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, 1 - bias - fraction_bits);
  } else {
    value = std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

TensorView made_tensor(DType dtype, std::span<const std::byte> bytes, std::vector<Index> shape) {
  TensorView tensor;
  tensor.file = "made.safetensors";
  tensor.name = "w";
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.bytes = bytes;
  return tensor;
}

class EveryHalf : public ::testing::TestWithParam<std::tuple<DType, std::size_t>> {};

TEST_P(EveryHalf, WidensExactlyOrIsRefused) {
  const auto [dtype, misalignment] = GetParam();
  const int exponent_bits = dtype == DType::F16 ? 5 : 8;
  std::vector<std::uint16_t> finite;
  std::vector<std::uint16_t> special;
  for (unsigned bits = 0; bits <= 0xFFFF; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const bool is_finite = std::isfinite(field_value(half, exponent_bits, 15 - exponent_bits));
    (is_finite ? finite : special).push_back(half);
  }
  EXPECT_EQ(special.size(), 2u << (15 - exponent_bits));

  std::vector<std::byte> bytes(2 * finite.size() + misalignment);
  std::memcpy(bytes.data() + misalignment, finite.data(), 2 * finite.size());
  const TensorView tensor =
      made_tensor(dtype, std::span(bytes).subspan(misalignment), {std::ssize(finite)});
  for (const std::string& level : simd_levels()) {
    SCOPED_TRACE(level);
    set_simd_level(level);
    const auto widened = tensor.values();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < finite.size(); ++i) {
      const auto expected =
          static_cast<float>(field_value(finite[i], exponent_bits, 15 - exponent_bits));
      wrong += std::bit_cast<std::uint32_t>(widened[i]) != std::bit_cast<std::uint32_t>(expected);
    }
    EXPECT_EQ(wrong, 0u);
    for (std::size_t i = 0; i < special.size(); i += 97) {
      const TensorView one =
          made_tensor(dtype, std::as_bytes(std::span(special).subspan(i, 1)), {});
      expect_error({"\"w\""}, [&] { one.values(); });
    }
  }
  set_simd_level("auto");
}

INSTANTIATE_TEST_SUITE_P(Types, EveryHalf,
                         ::testing::Combine(::testing::Values(DType::F16, DType::BF16),
                                            ::testing::Values(0u, 1u)));

TEST(Widen, ReadsARangeOfAnyTypeAtAnyAddress) {
  for (std::size_t misalignment : {0u, 1u, 3u}) {
    std::vector<std::byte> bytes(64);
    const std::vector<double> doubles = {1.0, 0.1, -1e-320, 1e38};
    std::memcpy(bytes.data() + misalignment, doubles.data(), 32);
    const TensorView wide =
        made_tensor(DType::F64, std::span(bytes).subspan(misalignment, 32), {4});
    std::vector<float> out(3);
    wide.widen(out, 1);
    EXPECT_EQ(out, (std::vector<float>{0.1f, -0.0f, 1e38f}));

    const std::vector<float> floats = {1.0f, -1e-45f, 3.4e38f};
    std::memcpy(bytes.data() + misalignment, floats.data(), 12);
    const TensorView single =
        made_tensor(DType::F32, std::span(bytes).subspan(misalignment, 12), {3});
    EXPECT_EQ(single.mapped_floats().empty(), misalignment % 4 != 0);
    const auto values = single.values();
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()), floats);
  }
}

TEST(Widen, NamesTheFirstValueThatIsNotFinite) {
  std::vector<float> floats(5000, 1.0f);
  floats[4321] = std::numeric_limits<float>::quiet_NaN();
  floats[4500] = std::numeric_limits<float>::infinity();
  const TensorView tensor = made_tensor(DType::F32, std::as_bytes(std::span(floats)), {50, 100});
  expect_error({"made.safetensors", "\"w\"", "NaN at element 4321, index [43, 21]"},
               [&] { tensor.matrix(); });
  std::vector<float> row(100);
  tensor.widen(row, 4200);
  expect_error({"+Inf at element 4500, index [45, 0]"}, [&] { tensor.widen(row, 4500); });

  const std::vector<double> doubles = {1.0, -1e39};
  const TensorView large = made_tensor(DType::F64, std::as_bytes(std::span(doubles)), {2});
  expect_error({"-1e+39 at element 1"}, [&] { large.values(); });
}

TEST(Widen, RefusesTypesThatAreNoFloats) {
  const std::vector<std::int32_t> integers = {1, 2};
  const TensorView tensor = made_tensor(DType::I32, std::as_bytes(std::span(integers)), {2});
  expect_error(ErrorKind::unsupported, {"\"w\"", "I32", "BF16"}, [&] { tensor.values(); });
}

TEST(Widen, KeepsWithinTheTensor) {
  const std::vector<float> floats = {1, 2, 3};
  const TensorView tensor = made_tensor(DType::F32, std::as_bytes(std::span(floats)), {3});
  std::vector<float> out(2);
  expect_error(ErrorKind::usage, {"\"w\"", "2 to 4"}, [&] { tensor.widen(out, 2); });
  expect_error(ErrorKind::usage, {"\"w\""}, [&] { tensor.widen(out, -1); });
}

TEST(Shape, IsComparedWithRoomForAnySize) {
  const TensorView tensor = made_tensor(DType::F32, {}, {2, 0, 7});
  const Index same[] = {2, 0, 7}, any[] = {-1, 0, -1}, other[] = {-1, 1, 7}, shorter[] = {2, 0};
  tensor.require_shape(same);
  tensor.require_shape(any);
  expect_error({"\"w\"", "[any, 1, 7]", "[2, 0, 7]"}, [&] { tensor.require_shape(other); });
  const TensorView full = made_tensor(DType::F32, {}, {2, 3, 7});
  expect_error({"[2, 0, 7]", "[2, 3, 7]"}, [&] { full.require_shape(same); });
  expect_error({"[2, 0]"}, [&] { tensor.require_shape(shorter); });
}

}  // namespace
}  // namespace headgauge
