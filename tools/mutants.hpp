// Included before every source of a build with mutants (tools/mutants.py). The variable HEADGAUGE_MUTANT
// chooses the one that is alive; without it the program is as it was written.
#pragma once

#include <concepts>
#include <cstdlib>

namespace mutants {

inline bool alive(int number) {
  static const int chosen = [] {
    const char* const given = std::getenv("HEADGAUGE_MUTANT");
    return given != nullptr ? std::atoi(given) : 0;
  }();
  return chosen == number;
}

// `a + Operator<3, Plus, Minus>{} + b` is a + b, or a - b if mutant 3 is alive.
template <int kNumber, class Was, class Becomes>
struct Operator {};

template <class Left, int kNumber, class Was, class Becomes>
struct Held {
  const Left& left;
  template <class Right>
  auto with(const Right& right) const {
    using Result = decltype(Was{}(left, right));
    return alive(kNumber) ? static_cast<Result>(Becomes{}(left, right)) : Was{}(left, right);
  }
};

struct Less { auto operator()(const auto& a, const auto& b) const { return a < b; } };
struct LessEqual { auto operator()(const auto& a, const auto& b) const { return a <= b; } };
struct Greater { auto operator()(const auto& a, const auto& b) const { return a > b; } };
struct GreaterEqual { auto operator()(const auto& a, const auto& b) const { return a >= b; } };
struct Equal { auto operator()(const auto& a, const auto& b) const { return a == b; } };
struct NotEqual { auto operator()(const auto& a, const auto& b) const { return a != b; } };
struct Plus { auto operator()(const auto& a, const auto& b) const { return a + b; } };
struct Minus { auto operator()(const auto& a, const auto& b) const { return a - b; } };
struct Times { auto operator()(const auto& a, const auto& b) const { return a * b; } };
struct Over { auto operator()(const auto& a, const auto& b) const { return a / b; } };

#define HEADGAUGE_MUTANT_OPERATOR(SIGN)                                                      \
  template <class Left, int kNumber, class Was, class Becomes>                               \
  auto operator SIGN(const Left& left, Operator<kNumber, Was, Becomes>) {                    \
    return Held<Left, kNumber, Was, Becomes>{left};                                          \
  }                                                                                          \
  template <class Left, int kNumber, class Was, class Becomes, class Right>                  \
  auto operator SIGN(const Held<Left, kNumber, Was, Becomes>& held, const Right& right) {    \
    return held.with(right);                                                                 \
  }
HEADGAUGE_MUTANT_OPERATOR(<)
HEADGAUGE_MUTANT_OPERATOR(<=)
HEADGAUGE_MUTANT_OPERATOR(>)
HEADGAUGE_MUTANT_OPERATOR(>=)
HEADGAUGE_MUTANT_OPERATOR(==)
HEADGAUGE_MUTANT_OPERATOR(!=)
HEADGAUGE_MUTANT_OPERATOR(+)
HEADGAUGE_MUTANT_OPERATOR(-)
HEADGAUGE_MUTANT_OPERATOR(*)
HEADGAUGE_MUTANT_OPERATOR(/)
#undef HEADGAUGE_MUTANT_OPERATOR

// A constant, and what it becomes.
template <int kNumber>
auto constant(auto was, auto becomes) {
  return alive(kNumber) ? static_cast<decltype(was)>(becomes) : was;
}

}  // namespace mutants
