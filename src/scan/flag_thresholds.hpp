// Where a head is flagged: the flags, their meanings and the summary use these.
#pragma once

namespace headgauge {

inline constexpr double kDispersed = 0.95;     // of the largest entropy
inline constexpr double kCollapsed = 0.05;     // likewise
inline constexpr double kSink = 0.3;           // of the weight, on sinks
inline constexpr double kDormant = 0.95;       // likewise; what little is left is not judged
inline constexpr double kOverSelected = 0.06;  // of the keys; paper A's share of L
inline constexpr double kSensitive = 0.25;     // half of the bound 1/(2T)
inline constexpr double kRedundant = 0.8;      // overlap of the top keys
inline constexpr double kSlow = 0.1;           // rate of convergence
inline constexpr double kNoExcess = 0.02;      // of separability

// A head has a role where its share on the keys of that kind has come this far from what even
// weights put there (0) to all of its weight (1).
inline constexpr double kRole = 0.4;

// Heads are judged (flags, roles, findings) by means of at least so many rows (docs/roles.md).
inline constexpr long long kJudgedRows = 32;

}  // namespace headgauge
