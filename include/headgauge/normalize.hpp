// Normalisers: the rule that turns a row of logits into attention weights (docs/mathematics.md
// section 6). Later rules plug in through the registry: one file, one line.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/kernels.hpp"

namespace headgauge {

// What a rule may look at besides the logits.
struct RowContext {
  Index visible = 0;   // n, the number of visible keys
  Index position = 0;  // 0-based position of the query in its document
};

struct NormalizerTraits {
  bool simplex = true;        // weights are non-negative and sum to 1
  bool increasing = true;     // a larger logit never has a smaller weight
  bool length_aware = false;  // depends on n beyond the sum
  bool sparse = false;        // gives exact zeros
  bool pointwise = false;     // a_i = F(l_i) / sum F(l_j)
  bool is_signed = false;     // weights may be negative
  double lipschitz = std::numeric_limits<double>::infinity();  // sup ||J||_2 over all rows
};

struct NormalizerInfo {
  std::string name;
  std::string formula;
  std::string parameters;  // "t=1", as accepted by make_normalizer
  std::string source;
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual const NormalizerInfo& info() const = 0;
  virtual NormalizerTraits traits() const = 0;

  // Weights of one row and their sums; `weights` has the size of `logits`. The hot path.
  virtual WeightSums weigh(std::span<const float> logits, const RowContext& context,
                           std::span<float> weights) const = 0;
  // The same weights in float64; the reference, and used where float32 cannot decide.
  virtual void weigh(std::span<const double> logits, const RowContext& context,
                     std::span<double> weights) const = 0;

  // The exact Jacobian J = da/dl at these logits, applied without forming it:
  // out = J v (jvp) and out = J^T v (vjp).
  virtual void jvp(std::span<const double> logits, const RowContext& context,
                   std::span<const double> v, std::span<double> out) const = 0;
  virtual void vjp(std::span<const double> logits, const RowContext& context,
                   std::span<const double> v, std::span<double> out) const = 0;

  // Norms of the Jacobian at a row already weighed, and the bounds of paper A's Lemma 2 on the
  // spectral norm: the valid one (L2v) and the printed one (L2).
  struct JacobianNorms {
    double frobenius = 0;
    double spectral = 0;
    double bound = 0;
    double bound_paper = 0;
  };
  virtual JacobianNorms jacobian_norms(std::span<const float> logits,
                                       std::span<const float> weights, const WeightSums& sums,
                                       const RowContext& context) const = 0;
};

// Makes the rule named by "name" or "name:key=value,..."; throws UsageError that lists what is
// known. normalizers() lists every rule with its defaults.
std::unique_ptr<Normalizer> make_normalizer(std::string_view spec);
const std::vector<NormalizerInfo>& normalizers();

// Largest eigenvalue of diag(r) - r r^T / sum r for r >= 0: the root of sum r_i/(r_i - lam) = 0
// between the two largest r, to 1e-12 (docs/mathematics.md 7a).
double ridge_spectral_norm(std::span<const float> r);

}  // namespace headgauge
