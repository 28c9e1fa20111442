#include "kernels/simd.hpp"

#include <cstdint>
#include <cstdlib>

#include "headgauge/base.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

// A dispatched function returns the level, so that it is the one that really runs.
const char* level_name() {
  if (HWY_TARGET == HWY_AVX3) return "avx512";
  if (HWY_TARGET == HWY_AVX2) return "avx2";
  return "baseline";
}

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(level_name);

namespace {

constexpr std::int64_t kAvx512 = HWY_TARGETS & HWY_AVX3;
constexpr std::int64_t kAvx2 = HWY_TARGETS & HWY_AVX2;

#if HWY_ARCH_X86
static_assert((HWY_TARGETS & ~(HWY_AVX3 | HWY_AVX2 | HWY_SSSE3)) == 0,
              "a level that no other version of Highway has");
#endif

// Called only once: SupportedTargets() also resets the choice.
std::int64_t cpu_targets() {
  static const std::int64_t targets = hwy::SupportedTargets();
  return targets;
}

bool supported(std::int64_t target) {
  return (cpu_targets() & target) != 0;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out = "auto";
  for (const std::string& name : names) out += ", " + name;
  return out;
}

// `where` names the wrong setting in a message.
void choose(std::string_view where, std::string_view level) {
  std::int64_t targets = HWY_STATIC_TARGET;  // the baseline
  if (level == "auto") {
    targets = cpu_targets();
  } else if (level == "avx512" && supported(kAvx512)) {
    targets = kAvx512;
  } else if (level == "avx2" && supported(kAvx2)) {
    targets = kAvx2;
  } else if (level != "baseline") {
    throw UsageError(fault(where, "one of " + joined(simd_levels()), "'" + std::string(level) + "'",
                           "this processor supports no other level; use auto"));
  }
  hwy::GetChosenTarget().Update(targets);
}

}  // namespace

bool detail::read_simd_environment() {
#if HWY_ARCH_X86
  refuse_if<UnsupportedError>(!supported(HWY_SSSE3), "this processor", "the SSSE3 instructions",
                              "none", "use another processor");
#endif
  const char* level = std::getenv("HEADGAUGE_SIMD");
  choose("HEADGAUGE_SIMD", level == nullptr || *level == '\0' ? "auto" : level);
  return true;
}

std::vector<std::string> simd_levels() {
  std::vector<std::string> levels;
  if (supported(kAvx512)) levels.emplace_back("avx512");
  if (supported(kAvx2)) levels.emplace_back("avx2");
  levels.emplace_back("baseline");
  return levels;
}

void set_simd_level(std::string_view level) {
  ensure_simd_level();
  choose("SIMD level", level);
}

std::string simd_level() {
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(level_name)();
}

}  // namespace headgauge
#endif
