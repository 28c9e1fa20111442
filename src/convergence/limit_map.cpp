#include "convergence/limit_map.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace headgauge {
namespace {

constexpr int kNodes = 4096;

// Returns exp(-r) sqrt(2 pi r) I_order(r), by the asymptotic series for r well above order^2.
double scaled_bessel(double order, double r) {
  const double mu = 4 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 200; ++k) {
    const double odd = 2 * k - 1;
    const double next = -term * (mu - odd * odd) / (8 * k * r);
    if (std::abs(next) >= std::abs(term)) break;
    term = next;
    sum += term;
    if (std::abs(term) < 1e-18) break;
  }
  return sum;
}

constexpr int kFewestNodes = 128;
constexpr int kMostNodes = 2048;
constexpr int kRadii = 2048;

double norm(std::span<const double> x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

Eigen::Map<const Eigen::VectorXd> vector(std::span<const double> x) {
  return {x.data(), static_cast<Eigen::Index>(x.size())};
}
Eigen::Map<Eigen::VectorXd> vector(std::span<double> x) {
  return {x.data(), static_cast<Eigen::Index>(x.size())};
}

}  // namespace

double bessel_ratio(Index d, double r) {
  if (r <= 0) return 0;
  const double order = static_cast<double>(d) / 2;
  if (r > std::max(100.0, 8 * order * order)) {
    return scaled_bessel(order, r) / scaled_bessel(order - 1, r);
  }
  // The continued fraction 1 / (2 order/r + 1 / (2 (order+1)/r + ...)), evaluated backwards. Every
  // step multiplies an error by the square of the current ratio, so about 7 sqrt(r) steps suffice.
  const int steps = static_cast<int>(7 * std::sqrt(r)) + 40;
  double ratio = 0;
  for (int k = steps; k >= 0; --k) ratio = 1 / (2 * (order + k) / r + ratio);
  return ratio;
}

BesselRatioTable::BesselRatioTable(Index d) : d_(static_cast<double>(d)) {
  values_.reserve(kNodes + 1);
  values_.push_back(1);
  for (int i = 1; i < kNodes; ++i) {
    const double t = static_cast<double>(i) / kNodes;
    values_.push_back(bessel_ratio(d, d_ * t / (1 - t)) / t);
  }
  values_.push_back(1);
}

double BesselRatioTable::over_r(double r) const {
  const double t = r / (r + d_) * kNodes;
  // Cubic interpolation from four nodes around t; at the ends three of them are on one side.
  const int first = std::clamp(static_cast<int>(t) - 1, 0, kNodes - 3);
  const double x = t - first;
  const double* v = values_.data() + first;
  const double value = -v[0] * (x - 1) * (x - 2) * (x - 3) / 6 + v[1] * x * (x - 2) * (x - 3) / 2 -
                       v[2] * x * (x - 1) * (x - 3) / 2 + v[3] * x * (x - 1) * (x - 2) / 6;
  return value / (r + d_);
}

double log_sphere_transform(const BesselRatioTable& table, double r) {
  // Simpson's rule over u = log(1 + r), which distributes the nodes over all magnitudes of r: A_d
  // bends near r = d and is straight elsewhere.
  const int steps = 2000;
  const double top = std::log1p(r);
  double sum = 0;
  for (int i = 0; i <= steps; ++i) {
    const double u = top * i / steps;
    const double weight = i == 0 || i == steps ? 1 : (i % 2 == 1 ? 4 : 2);
    sum += weight * table.ratio(std::expm1(u)) * std::exp(u);
  }
  return sum * top / steps / 3;
}

Quadrature beta_quadrature(int nodes, double a, double b) {
  // Uses Jacobi polynomials with the weight (1 - x)^alpha (1 + x)^beta on [-1, 1], x = 2 v - 1.
  const double alpha = b - 1, beta = a - 1, sum = alpha + beta;
  Eigen::VectorXd diagonal(nodes), off(std::max(nodes - 1, 0));
  for (int k = 0; k < nodes; ++k) {
    // Both factors of the general formula are 0 at alpha + beta = 0.
    diagonal(k) = k == 0 ? (beta - alpha) / (sum + 2)
                         : (beta - alpha) * sum / ((2 * k + sum) * (2 * k + sum + 2));
  }
  for (int k = 1; k < nodes; ++k) {
    const double t = 2 * k + sum;
    // The factor k + alpha + beta cancels t - 1 at k = 1.
    const double square =
        k == 1 ? 4 * (1 + alpha) * (1 + beta) / (t * t * (t + 1))
               : 4 * k * (k + alpha) * (k + beta) * (k + sum) / (t * t * (t + 1) * (t - 1));
    off(k - 1) = std::sqrt(square);
  }
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(diagonal, off);
  Quadrature rule;
  for (int k = 0; k < nodes; ++k) {
    rule.nodes.push_back(std::clamp((1 + solver.eigenvalues()(k)) / 2, 0.0, 1.0));
    const double first = solver.eigenvectors()(0, k);
    rule.weights.push_back(first * first);
  }
  return rule;
}

Quadrature normal_quadrature(int nodes, double scale) {
  // F(s xi)^2 shifts the mass of exp(-xi^2/2) by at most 2 s.
  const double reach = 9, low = -reach, high = reach + std::min(2 * scale, 40.0);
  Quadrature rule;
  for (int k = 0; k < nodes; ++k) {
    const double x = low + (high - low) * k / (nodes - 1);
    rule.nodes.push_back(x);
    rule.weights.push_back(std::exp(-x * x / 2));
  }
  const double sum = std::accumulate(rule.weights.begin(), rule.weights.end(), 0.0);
  for (double& weight : rule.weights) weight /= sum;
  return rule;
}

LimitMap::LimitMap(const TokenLaw& law, const Normalizer* normalizer, double reach)
    : law_(law), normalizer_(normalizer) {
  if (law.sphere && normalizer == nullptr) {
    bessel_ = std::make_unique<BesselRatioTable>(law.dimension);
  }
  if (normalizer != nullptr && law.sphere) {  // (1 + t) / 2 ~ Beta((d-1)/2, (d-1)/2)
    const double half = static_cast<double>(law.dimension - 1) / 2;
    coordinate_ =
        half > 0 ? beta_quadrature(kFewestNodes, half, half) : Quadrature{{0, 1}, {0.5, 0.5}};
    for (double& node : coordinate_.nodes) node = 2 * node - 1;
  }
  if (normalizer == nullptr || reach <= 0) return;
  std::vector<double> z(static_cast<std::size_t>(law.dimension)), out(z.size());
  step_ = reach / kRadii;
  // One step beyond the reach, for interpolation at its end.
  for (int i = 0; i <= kRadii + 1; ++i) {
    z[0] = i * step_;
    apply_normalizer(z, out);
    radial_.push_back(out[0]);
  }
}

void LimitMap::apply(std::span<const double> z, std::span<double> out) const {
  if (normalizer_ == nullptr) return apply_softmax(z, out);
  const double length = norm(z);
  if (radial_.empty() || length == 0 || length > step_ * kRadii) return apply_normalizer(z, out);
  const double factor = radial(length) / length;
  std::ranges::transform(z, out.begin(), [&](double value) { return factor * value; });
}

double LimitMap::radial(double length) const {
  const double t = length / step_;
  const int first = std::clamp(static_cast<int>(t) - 1, 0, kRadii - 2);
  const double x = t - first;
  const double* v = radial_.data() + first;
  return -v[0] * (x - 1) * (x - 2) * (x - 3) / 6 + v[1] * x * (x - 2) * (x - 3) / 2 -
         v[2] * x * (x - 1) * (x - 3) / 2 + v[3] * x * (x - 1) * (x - 2) / 6;
}

void LimitMap::apply_softmax(std::span<const double> z, std::span<double> out) const {
  const TokenLaw& p = law_;
  if (p.sphere) {  // Gamma = R A_d(R |z|) z / |z|
    const double factor = p.radius * p.radius * bessel_->over_r(p.radius * norm(z));
    std::ranges::transform(z, out.begin(), [&](double value) { return factor * value; });
    return;
  }
  if (p.atoms) {
    std::ranges::transform(z, out.begin(), [&](double value) { return p.tilted(value).mean; });
    return;
  }
  std::ranges::transform(z, out.begin(), [&](double value) { return p.variance * value; });
}

LimitMap::Curve LimitMap::curve(double length) const {
  const TokenLaw& p = law_;
  Curve curve;
  std::vector<double> logits;
  if (p.sphere) {  // <z, y> = R |z| t
    curve.nodes = coordinate_;
    for (double node : curve.nodes.nodes) logits.push_back(p.radius * length * node);
  } else {  // <z, y> = sqrt(g) |z| xi
    const double spread = std::sqrt(p.variance) * length;
    // A kink of F at 0 has a width of 1 / spread in xi.
    const int nodes =
        std::clamp(static_cast<int>(64 * (1 + std::min(spread, 1e3))), kFewestNodes, kMostNodes);
    curve.nodes = normal_quadrature(nodes, spread);
    for (double node : curve.nodes.nodes) logits.push_back(spread * node);
  }
  curve.values.resize(logits.size());
  const RowContext context{std::ssize(logits), std::ssize(logits) - 1};
  normalizer_->weigh(std::span<const double>(logits), context, curve.values);
  return curve;
}

void LimitMap::apply_normalizer(std::span<const double> z, std::span<double> out) const {
  const double length = norm(z);
  if (length == 0) {
    std::ranges::fill(out, 0.0);
    return;
  }
  const Curve f = curve(length);
  const auto nodes = static_cast<Eigen::Index>(f.nodes.nodes.size());
  const Eigen::Map<const Eigen::ArrayXd> x(f.nodes.nodes.data(), nodes);
  const Eigen::Map<const Eigen::ArrayXd> weights(f.nodes.weights.data(), nodes);
  const Eigen::Map<const Eigen::ArrayXd> values(f.values.data(), nodes);
  const Eigen::VectorXd unit = vector(z) / length;
  const double sum = (weights * values).sum(), along = (weights * values * x).sum();
  const double size = law_.sphere ? law_.radius : std::sqrt(law_.variance);
  vector(out) = size * along * unit / sum;
}

double LimitMap::variance(std::span<const double> z) const {
  const TokenLaw& p = law_;
  const auto d = static_cast<double>(p.dimension);
  const double length = norm(z);
  std::vector<double> mapped(z.size());
  apply(z, mapped);
  const auto gamma = vector(std::span<const double>(mapped));
  if (normalizer_ != nullptr && length > 0) {
    const Curve f = curve(length);
    const Eigen::VectorXd unit = vector(z) / length;
    double sum = 0, square = 0;
    for (std::size_t i = 0; i < f.values.size(); ++i) {
      const double weight = f.nodes.weights[i], x = f.nodes.nodes[i], value = f.values[i];
      double distance = 0;  // E |y - Gamma|^2 given this score
      if (p.sphere) {
        distance = p.radius * p.radius - 2 * p.radius * x * gamma.dot(unit) + gamma.squaredNorm();
      } else {
        distance = (std::sqrt(p.variance) * x * unit - gamma).squaredNorm() + p.variance * (d - 1);
      }
      sum += weight * value;
      square += weight * value * value * distance;
    }
    return square / (sum * sum);
  }
  if (p.atoms) {  // squaring exp doubles z
    double log_ratio = 0, distance = 0;
    for (std::size_t j = 0; j < z.size(); ++j) {
      const TokenLaw::Tilted twice = p.tilted(2 * z[j]);
      log_ratio += twice.log_mass - 2 * p.tilted(z[j]).log_mass;
      distance += twice.square - 2 * twice.mean * mapped[j] + mapped[j] * mapped[j];
    }
    return std::exp(log_ratio) * distance;
  }
  if (p.sphere) {  // squaring exp doubles z; M = E e^{<z, y>}
    const double r = p.radius * length;
    if (r == 0) return p.radius * p.radius;
    const double g = gamma.norm();
    const double log_ratio =
        log_sphere_transform(*bessel_, 2 * r) - 2 * log_sphere_transform(*bessel_, r);
    return std::exp(log_ratio) *
           (p.radius * p.radius - 2 * p.radius * bessel_->ratio(2 * r) * g + g * g);
  }
  // E e^{<z, y>} is exp(g |z|^2 / 2), and squaring exp doubles z.
  const Eigen::VectorXd mean = 2 * p.variance * vector(z);
  return std::exp(p.variance * length * length) * (p.variance * d + (mean - gamma).squaredNorm());
}

}  // namespace headgauge
