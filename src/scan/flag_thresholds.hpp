// Thresholds of the flags, which the flags, their meanings and the summary use.
#pragma once

namespace headgauge {

inline constexpr double kDispersed = 0.95;  // share of the largest possible entropy
inline constexpr double kCollapsed = 0.05;  // share of the largest possible entropy
inline constexpr double kSink = 0.3;        // share of the weight on sinks
inline constexpr double kDormant = 0.95;    // share of the weight on sinks; the little that remains
                                            // is not judged
inline constexpr double kOverSelected = 0.06;  // share of the keys; paper A's share of L
inline constexpr double kSensitive = 0.25;     // half of the bound 1/(2T)
inline constexpr double kRedundant = 0.8;      // overlap of the top keys
inline constexpr double kSlow = 0.1;           // rate of convergence
inline constexpr double kNoExcess = 0.02;      // excess of separability

// A head has a role if its share on that kind of key lies at least this far between the share of
// uniform weights (0) and all of the weight (1).
inline constexpr double kRole = 0.4;

// Flags, roles and findings require means over at least this many rows (docs/roles.md).
inline constexpr long long kJudgedRows = 32;

}  // namespace headgauge
