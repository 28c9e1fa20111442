// Normalizers turn a row of logits into attention weights (docs/mathematics.md, section 6). To add
// one, add an entry to the list of its family in src/normalize.
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
#include "headgauge/parameters.hpp"

namespace headgauge {

// The input of a normalizer in addition to the logits.
struct RowContext {
  Index visible = 0;   // n, the number of visible keys
  Index position = 0;  // 0-based position of the query in its document
};

struct NormalizerTraits {
  bool simplex = true;        // weights are non-negative and sum to 1
  bool increasing = true;     // a larger logit never has a smaller weight
  bool length_aware = false;  // depends on n not only through the sum
  bool by_position = false;   // depends on the query's position; for causal heads only
  bool sparse = false;        // produces exact zeros
  bool pointwise = false;     // a_i = F(l_i) / sum F(l_j)
  bool has_sink = false;      // weights sum to less than 1; the rest is on a sink that is not a key
  bool unit_norms = false;    // logits are cosines: queries and keys are scaled to length 1
  bool in_blocks = false;     // a call costs much: weigh many rows at once, by weigh_rows()
  // sup ||J||_2 over all rows of any length; infinite if it is not Lipschitz or if the constant
  // grows with n (then see Normalizer::lipschitz).
  double lipschitz = std::numeric_limits<double>::infinity();
};

// A row for Normalizer::weigh_rows(), as for weigh().
struct WeighedRow {
  std::span<const float> logits;
  RowContext context;
  std::span<float> weights;
  WeightSums sums = {};  // the result
};
struct ExactRow {
  std::span<const double> logits;
  RowContext context;
  std::span<double> weights;
};

struct NormalizerInfo {
  std::string name;
  std::string formula;
  // The parameters of a spec, with their initial values in normalizers() and with the chosen ones
  // in parse_normalizer() and Normalizer::info().
  Parameters parameters;
  std::string source;
  std::string bound;   // sup ||J||_2 in words: "1/(2t)", "none: not Lipschitz where ..."
  std::string lemma1;  // "applies", or "does not apply: why"
};

// An exact Jacobian da_i/dl_j = diag(diagonal) + sum_k left_k right_k^T. Every normalizer here has
// this form, with at most four terms.
struct Jacobian {
  struct Term {
    std::vector<double> left, right;
  };
  std::vector<double> diagonal;
  std::vector<Term> terms;

  void apply(std::span<const double> v, std::span<double> out) const;             // J v
  void apply_transposed(std::span<const double> v, std::span<double> out) const;  // J^T v
  double frobenius() const;
  // Computes the largest singular value to 1e-9 relative by Lanczos bidiagonalisation.
  double spectral() const;
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual const NormalizerInfo& info() const = 0;
  virtual NormalizerTraits traits() const = 0;

  // Computes the weights of one row and their sums. `weights` has the size of `logits` and may be
  // the same memory, or is empty if only the sums are needed. This is the hot path; the default
  // computes in float64. log_sum_exp is NaN if a logit is NaN or infinite. A row whose logits are
  // all -infinity sees no key: its weights are 0.
  WeightSums weigh(std::span<const float> logits, const RowContext& context,
                   std::span<float> weights) const;
  // Computes the same weights in float64; the reference, also used where float32 is not precise
  // enough.
  void weigh(std::span<const double> logits, const RowContext& context,
             std::span<double> weights) const;
  // Computes weigh() of each row, with the same bits for all normalizers of normalizers().
  void weigh_rows(std::span<WeighedRow> rows) const;
  void weigh_rows(std::span<const ExactRow> rows) const;

  // Computes the exact Jacobian at these logits, including every dependence of a scale on them
  // (docs/mathematics.md 6). At a kink it is the one-sided Jacobian.
  virtual void jacobian(std::span<const double> logits, const RowContext& context,
                        Jacobian& out) const = 0;
  // out = J^T v.
  void vjp(std::span<const double> logits, const RowContext& context, std::span<const double> v,
           std::span<double> out) const;

  // Returns sup ||J||_2 over all logits of a row of n keys; infinite if there is no bound.
  virtual double lipschitz(const RowContext& context) const;
  // Returns the scale c of softmax(c l) if c depends only on the row's length and position; nothing
  // for other normalizers.
  virtual std::optional<double> softmax_scale(const RowContext& context) const;
  // Returns a notice for readers about texts of up to `longest` tokens; usually nothing.
  virtual std::string notice(Index longest) const {
    static_cast<void>(longest);
    return {};
  }

  // Norms of the Jacobian at a row whose weights are known, and the bounds of paper A's Lemma 2 on
  // the spectral norm: the valid one (L2v) and the printed one (L2). Undefined if there is none.
  struct JacobianNorms {
    double frobenius = 0;
    double spectral = 0;
    double bound = kUndefined;
    double bound_paper = kUndefined;
  };
  // The default uses jacobian(), and lipschitz() as the bound.
  virtual JacobianNorms jacobian_norms(std::span<const float> logits,
                                       std::span<const float> weights, const WeightSums& sums,
                                       const RowContext& context) const;

 protected:
  // weigh() for rows that see at least one key.
  virtual WeightSums weigh_row(std::span<const float> logits, const RowContext& context,
                               std::span<float> weights) const;
  virtual void weigh_row(std::span<const double> logits, const RowContext& context,
                         std::span<double> weights) const = 0;
  // weigh_row() of each row, in one call if NormalizerTraits::in_blocks; the default calls it row
  // by row.
  virtual void weigh_block(std::span<const ExactRow> rows) const;
};

// Lists every normalizer that a spec can name, with the initial values of its parameters.
const std::vector<NormalizerInfo>& normalizers();
// Reads "name" or "name:key=value,...". Throws UsageError that lists the known names and names the
// `option` in which the spec was given.
NormalizerInfo parse_normalizer(std::string_view spec,
                                std::string_view option = "ScanOptions::normalizer");
// Makes the normalizer of that name with the values of its parameters. To vary a parameter, set it
// in a copy of info().
std::unique_ptr<Normalizer> make_normalizer(const NormalizerInfo& info);
// Makes the normalizer that parse_normalizer() reads.
std::unique_ptr<Normalizer> make_normalizer(std::string_view spec,
                                            std::string_view option = "ScanOptions::normalizer");

}  // namespace headgauge
