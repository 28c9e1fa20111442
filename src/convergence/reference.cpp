#include "convergence/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "convergence/decompositions.hpp"

namespace headgauge {
namespace {

constexpr Index kBatches = 64;  // batches of draws, for their standard error
constexpr Index kMapped = 192;  // points mapped at a time
constexpr Index kMostQuadratureDimension = 12;
constexpr double kMostProductNodes = 1e6;  // nodes of a product of quadratures
constexpr int kMostNodesEach = 64;

// Returns the mean covariance of the batches, and its standard error. The mean of every batch is 0.
Reference from_batches(const std::vector<Moments>& batches, const ReferenceQuestion& question) {
  const auto count = static_cast<double>(batches.size());
  Reference reference;
  reference.moments = batches.front();
  for (std::size_t b = 1; b < batches.size(); ++b) {
    reference.moments.covariance += batches[b].covariance;
  }
  reference.moments.covariance /= count;
  double covariance = 0;
  for (const Moments& batch : batches) {
    const Eigen::MatrixXd difference = batch.covariance - reference.moments.covariance;
    covariance += std::pow(covariance_norm(difference, question.norm), 2);
  }
  reference.covariance_error = std::sqrt(covariance / count / (count - 1));
  return reference;
}

RandomStream stream_of(const ReferenceQuestion& question, Index batch) {
  return {question.seed, RandomDomain::synthetic_reference, 0, static_cast<std::uint32_t>(batch)};
}

// Returns the number of draws per batch.
Index batch_size(const ReferenceQuestion& question) {
  return (question.draws + kBatches - 1) / kBatches;
}

// Calls from_batches() for every factor.
std::vector<Reference> all_from_batches(const std::vector<std::vector<Moments>>& batches,
                                        const ReferenceQuestion& question) {
  std::vector<Reference> references;
  for (const std::vector<Moments>& of_factor : batches) {
    references.push_back(from_batches(of_factor, question));
    references.back().method = fmt::format("{} draws", batch_size(question) * kBatches);
  }
  return references;
}

std::vector<Reference> by_draws(const ReferenceQuestion& question, ThreadPool& pool) {
  const TokenLaw& law = question.law;
  const Index d = law.dimension, size = batch_size(question);
  const std::size_t factors = question.factors.size();
  // The norm |z| of nearly all draws: |x| is within a few of sqrt(d) standard deviations.
  double farthest = law.radius;
  if (!law.sphere) {
    farthest = std::sqrt(law.variance) * (std::sqrt(static_cast<double>(d)) + 5);
  }
  const double stretch = singular_values(question.map).singularValues()(0);
  std::vector<LimitMap> maps;
  for (double factor : question.factors) {
    maps.emplace_back(law, question.normalizer, farthest * stretch * factor);
  }
  std::vector<std::vector<Moments>> batches(factors, std::vector<Moments>(kBatches));
  pool.for_each(kBatches, [&](Index batch) {
    const RandomStream stream = stream_of(question, batch);
    Matrix<float> tokens(kMapped, d), mapped(kMapped, d);
    Eigen::MatrixXd x(d, kMapped), z(d, kMapped);
    Eigen::VectorXd scaled(d), gamma(d);
    std::vector<MomentSums> sums(factors, MomentSums(d));
    for (Index first = 0; first < size && !question.stop.stop_requested(); first += kMapped) {
      const Index count = std::min(kMapped, size - first);
      draw_tokens(law, stream, first, tokens.view().block(0, count, 0, d));
      for (Index i = 0; i < count; ++i) {
        for (Index j = 0; j < d; ++j) x(j, i) = tokens(i, j);
      }
      z.noalias() = question.map * x;
      for (std::size_t f = 0; f < factors; ++f) {
        for (Index i = 0; i < count; ++i) {
          scaled = question.factors[f] * z.col(i);
          maps[f].apply({scaled.data(), static_cast<std::size_t>(d)},
                        {gamma.data(), static_cast<std::size_t>(d)});
          for (Index j = 0; j < d; ++j) mapped(i, j) = static_cast<float>(gamma(j));
        }
        sums[f].add(mapped.view().block(0, count, 0, d));
      }
    }
    for (std::size_t f = 0; f < factors; ++f) {
      Moments moments = sums[f].moments();
      // The mean is known to be 0; its noise must not enter the covariance.
      moments.covariance += moments.mean * moments.mean.transpose();
      moments.mean.setZero();
      batches[f][batch] = moments.through(question.values);
    }
  });
  return all_from_batches(batches, question);
}

// Returns R^2 sigma_i^2 A_d(R^2 sqrt q)^2 / q for given T: the factor of T_i in eigenvalue i (O3).
double sphere_factor(const BesselRatioTable& table, double radius, double q) {
  const double r2 = radius * radius;
  const double over = r2 * table.over_r(r2 * std::sqrt(q));
  return r2 * over * over;
}

std::vector<Reference> sphere_by_draws(const ReferenceQuestion& question, ThreadPool& pool) {
  const Index d = question.law.dimension, size = batch_size(question);
  const std::size_t factors = question.factors.size();
  const auto svd = singular_values(question.map, Eigen::ComputeFullU);
  const Eigen::VectorXd square = svd.singularValues().cwiseAbs2();
  const BesselRatioTable table(d);
  std::vector<std::vector<Moments>> batches(factors, std::vector<Moments>(kBatches));
  pool.for_each(kBatches, [&](Index batch) {
    const RandomStream stream = stream_of(question, batch);
    TokenLaw unit = question.law;
    unit.radius = 1;
    Matrix<float> points(kMapped, d);
    Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(d, static_cast<Index>(factors));
    Eigen::VectorXd t(d);
    for (Index first = 0; first < size && !question.stop.stop_requested(); first += kMapped) {
      const Index count = std::min(kMapped, size - first);
      draw_tokens(unit, stream, first, points.view().block(0, count, 0, d));
      for (Index i = 0; i < count; ++i) {
        for (Index j = 0; j < d; ++j) {  // squared coordinates of a point on the sphere are
                                         // Dirichlet(1/2, ...)
          t(j) = static_cast<double>(points(i, j)) * points(i, j);
        }
        const double q = square.dot(t);
        for (std::size_t f = 0; f < factors; ++f) {
          const double factor = question.factors[f];
          sum.col(static_cast<Index>(f)) +=
              sphere_factor(table, question.law.radius, factor * factor * q) * t;
        }
      }
    }
    for (std::size_t f = 0; f < factors; ++f) {
      const double factor = question.factors[f] * question.factors[f] / static_cast<double>(size);
      const Eigen::VectorXd lambda = factor * sum.col(static_cast<Index>(f)).cwiseProduct(square);
      const Moments moments{Eigen::VectorXd::Zero(d),
                            svd.matrixU() * lambda.asDiagonal() * svd.matrixU().transpose()};
      batches[f][batch] = moments.through(question.values);
    }
  });
  return all_from_batches(batches, question);
}

int quadrature_nodes(Index d) {
  if (d == 1) return 2;
  const double each = std::pow(kMostProductNodes, 1.0 / static_cast<double>(d - 1));
  return std::clamp(static_cast<int>(each + 1e-9), 3, kMostNodesEach);
}

Reference sphere_by_quadrature(const ReferenceQuestion& question, double factor) {
  const Index d = question.law.dimension;
  const auto svd = singular_values(question.map, Eigen::ComputeFullU);
  const auto moments = [&](int nodes) {
    const Eigen::VectorXd lambda =
        sphere_eigenvalues(factor * svd.singularValues(), question.law.radius, nodes);
    const Moments plain{Eigen::VectorXd::Zero(d),
                        svd.matrixU() * lambda.asDiagonal() * svd.matrixU().transpose()};
    return plain.through(question.values);
  };
  const int nodes = quadrature_nodes(d);
  Reference reference;
  reference.moments = moments(nodes);
  reference.covariance_error =
      covariance_norm(reference.moments.covariance - moments(nodes - 1).covariance, question.norm);
  reference.method = "quadrature";
  return reference;
}

}  // namespace

Eigen::VectorXd sphere_eigenvalues(const Eigen::VectorXd& singular, double radius, int nodes) {
  const Eigen::Index d = singular.size();
  const Eigen::VectorXd square = singular.cwiseAbs2();
  const BesselRatioTable table(d);
  // Stick breaking: T_k = V_k (1 - V_0) ... (1 - V_{k-1}), V_k ~ Beta(1/2, (d-k-1)/2).
  std::vector<Quadrature> rules;
  for (Eigen::Index k = 0; k + 1 < d; ++k) {
    rules.push_back(beta_quadrature(nodes, 0.5, static_cast<double>(d - k - 1) / 2));
  }
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(d), t(d);
  // Visits all combinations of nodes, depth first.
  const auto visit = [&](const auto& self, std::size_t k, double left, double weight,
                         double q) -> void {
    const auto at = static_cast<Eigen::Index>(k);
    if (k == rules.size()) {
      t(at) = left;
      sum += weight * sphere_factor(table, radius, q + square(at) * left) * t;
      return;
    }
    for (int i = 0; i < nodes; ++i) {
      const auto node = static_cast<std::size_t>(i);
      const double part = left * rules[k].nodes[node];
      t(at) = part;
      self(self, k + 1, left - part, weight * rules[k].weights[node], q + square(at) * part);
    }
  };
  visit(visit, 0, 1, 1, 0);
  return sum.cwiseProduct(square);
}

std::vector<Reference> exact_references(const ReferenceQuestion& question, ThreadPool& pool) {
  const TokenLaw& law = question.law;
  if (question.normalizer != nullptr) return by_draws(question, pool);
  if (law.sphere) {
    std::vector<Reference> references(question.factors.size());
    std::vector<double> left;  // factors for which the quadrature is too coarse
    std::vector<std::size_t> at;
    for (std::size_t f = 0; f < references.size(); ++f) {
      if (law.dimension <= kMostQuadratureDimension) {
        references[f] = sphere_by_quadrature(question, question.factors[f]);
        // Accepts an error as small as that of draws, whose relative error is about 1 /
        // sqrt(draws).
        const double size = covariance_norm(references[f].moments.covariance, question.norm);
        const double by_drawing = size / std::sqrt(static_cast<double>(question.draws));
        if (references[f].covariance_error <= by_drawing) continue;
      }
      left.push_back(question.factors[f]);
      at.push_back(f);
    }
    if (left.empty()) return references;
    ReferenceQuestion rest = question;
    rest.factors = left;
    const std::vector<Reference> drawn = sphere_by_draws(rest, pool);
    for (std::size_t i = 0; i < at.size(); ++i) references[at[i]] = drawn[i];
    return references;
  }
  if (law.atoms) return by_draws(question, pool);
  std::vector<Reference> references;
  for (double factor : question.factors) {  // Gamma(x) = S A x, S = g I
    const Moments moments{
        Eigen::VectorXd::Zero(law.dimension),
        factor * factor * std::pow(law.variance, 3) * question.map * question.map.transpose()};
    references.push_back({moments.through(question.values), 0, 0, "closed form"});
  }
  return references;
}

}  // namespace headgauge
