// The sensitivity group: how strongly weights react to changes of the logits, by steps of finite
// size (docs/mathematics.md D4.2) and by the exact Jacobian (docs/mathematics.md D4.1).
#pragma once

#include <memory>

#include "base/random.hpp"
#include "headgauge/measure.hpp"

namespace headgauge {

// Throws UsageError unless every temperature and every epsilon is from 1e-9 to 1e9.
std::unique_ptr<Measure> make_sensitivity_measure(const MeasureOptions& options, int slots);

// Computes ||w((l + eps v)/T) - w(l/T)||_2 / eps for any normalizer w in float64; gains as in
// softmax_sensitivity().
void normalizer_sensitivity(const Normalizer& normalizer, const RowContext& context,
                            std::span<const float> logits, std::span<const double> v,
                            std::span<const double> temperatures, std::span<const double> epsilons,
                            std::span<double> gains);

// Draws one row from each group of neighbours: returns how many rows a row represents: all of its
// group if it is the drawn one, else none. `random` is the same for all rows of a group.
inline Index drawn_for(const RowGroup& group, const RandomStream& random) {
  const double place = random.uniforms(0)[0] * static_cast<double>(group.rows);
  return group.place == static_cast<Index>(place) ? group.rows : 0;
}

}  // namespace headgauge
