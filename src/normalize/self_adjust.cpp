// N7 self-adjust softmax and N10 softpick, whose weights depend on the sign or the range of the
// logits (docs/mathematics.md 6).
#include <algorithm>
#include <cmath>

#include "kernels/pointwise.hpp"
#include "kernels/softmax.hpp"
#include "normalize/families.hpp"
#include "normalize/scaled_softmax.hpp"

namespace headgauge {
namespace {

std::size_t index_of(std::span<const double> row, std::span<const double>::iterator at) {
  return static_cast<std::size_t>(at - row.begin());
}

// a_i = w_i p_i, p = softmax(l), w_i = (l_i - m) / (M - m), m = min(min l, 0), M = max(max l, 0); a
// = p if M = m.
class SelfAdjust final : public Normalizer {
 public:
  explicit SelfAdjust(NormalizerInfo info) : info_(std::move(info)) {}
  const NormalizerInfo& info() const override { return info_; }
  NormalizerTraits traits() const override {
    NormalizerTraits traits;
    traits.simplex = false;
    return traits;
  }
  WeightSums weigh_row(std::span<const float> logits, const RowContext& context,
                       std::span<float> weights) const override {
    WeightSums sums;
    if (weigh_pointwise({PointwiseFunction::kSelfAdjust}, logits, weights, sums)) return sums;
    return Normalizer::weigh_row(logits, context, weights);
  }
  void weigh_row(std::span<const double> logits, const RowContext&,
                 std::span<double> weights) const override {
    const Bounds b(logits);
    const std::vector<double> l(logits.begin(), logits.end());
    softmax_exact(l, 1, weights);
    if (b.width == 0) return;
    for (std::size_t i = 0; i < l.size(); ++i) weights[i] *= (l[i] - b.low) / b.width;
  }

  // The Jacobian is diag(p)/(M - m) + diag(w p) (I - 1 p^T), plus a column each for the smallest
  // and the largest logit if they set m and M.
  void jacobian(std::span<const double> logits, const RowContext&, Jacobian& out) const override {
    const std::size_t n = logits.size();
    const Bounds b(logits);
    std::vector<double> p(n), a(n);
    softmax_exact(logits, 1, p);
    out.terms.clear();
    out.diagonal = p;
    if (b.width == 0) return subtract_term(out, p, p);
    for (std::size_t i = 0; i < n; ++i) {
      a[i] = p[i] * (logits[i] - b.low) / b.width;
      out.diagonal[i] = p[i] / b.width + a[i];
    }
    subtract_term(out, a, p);
    const double square = b.width * b.width;
    if (b.low < 0) {
      std::vector<double> left(n), right(n, 0.0);
      for (std::size_t i = 0; i < n; ++i) left[i] = p[i] * (b.high - logits[i]) / square;
      right[index_of(logits, std::ranges::min_element(logits))] = 1;
      subtract_term(out, std::move(left), std::move(right));
    }
    if (b.high > 0) {
      std::vector<double> left(n), right(n, 0.0);
      for (std::size_t i = 0; i < n; ++i) left[i] = p[i] * (logits[i] - b.low) / square;
      right[index_of(logits, std::ranges::max_element(logits))] = 1;
      subtract_term(out, std::move(left), std::move(right));
    }
  }

 private:
  struct Bounds {
    explicit Bounds(std::span<const double> l)
        : low(std::min(*std::ranges::min_element(l), 0.0)),
          high(std::max(*std::ranges::max_element(l), 0.0)),
          width(high - low) {}
    double low, high, width;
  };
  NormalizerInfo info_;
};

// a_i = relu(e^l_i - 1) / (sum_j |e^l_j - 1| + 1e-8); the code divides every term by e^max(l, 0).
class Softpick final : public Normalizer {
 public:
  explicit Softpick(NormalizerInfo info) : info_(std::move(info)) {}
  const NormalizerInfo& info() const override { return info_; }
  NormalizerTraits traits() const override {
    NormalizerTraits traits;
    traits.simplex = false;
    traits.sparse = true;
    return traits;
  }
  WeightSums weigh_row(std::span<const float> logits, const RowContext& context,
                       std::span<float> weights) const override {
    WeightSums sums;
    if (weigh_pointwise({PointwiseFunction::kSoftpick}, logits, weights, sums)) return sums;
    return Normalizer::weigh_row(logits, context, weights);
  }
  void weigh_row(std::span<const double> logits, const RowContext&,
                 std::span<double> weights) const override {
    const Parts parts(logits);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      weights[i] = logits[i] > 0 ? parts.lifted(logits[i]) / parts.sum : 0.0;
    }
  }
  // The Jacobian is (diag(1[l > 0] e^l) - a (sign(l) e^l)^T) / D.
  void jacobian(std::span<const double> logits, const RowContext& context,
                Jacobian& out) const override {
    const Parts parts(logits);
    std::vector<double> a(logits.size()), right(logits.size());
    weigh(logits, context, a);
    out.terms.clear();
    out.diagonal.resize(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double e = std::exp(logits[i] - parts.shift) / parts.sum;
      out.diagonal[i] = logits[i] > 0 ? e : 0.0;
      right[i] = logits[i] > 0 ? e : -e;
    }
    subtract_term(out, std::move(a), std::move(right));
  }

 private:
  static constexpr double kEpsilon = 1e-8;
  struct Parts {
    explicit Parts(std::span<const double> l) : shift(std::max(0.0, *std::ranges::max_element(l))) {
      sum = kEpsilon * std::exp(-shift);
      for (const double x : l) sum += std::abs(lifted(x));
    }
    // Computes (e^x - 1) e^-shift; uses expm1 near x = 0, for full precision.
    double lifted(double x) const {
      return shift == 0 || std::abs(x) < 1 ? std::expm1(x) * std::exp(-shift)
                                           : std::exp(x - shift) - std::exp(-shift);
    }
    double shift, sum = 0;
  };
  NormalizerInfo info_;
};

template <class Kind>
std::unique_ptr<Normalizer> made(const NormalizerInfo& info) {
  return std::make_unique<Kind>(info);
}

}  // namespace

NormalizerMakers self_adjust_normalizers() {
  return {
      {"sasoftmax", made<SelfAdjust>},
      {"softpick", made<Softpick>},
  };
}

}  // namespace headgauge
