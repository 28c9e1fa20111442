// Random matrices for tests.
#pragma once

#include <random>

#include "headgauge/array.hpp"

namespace headgauge {

// A matrix of standard normals.
inline Matrix<float> normal_rows(Index rows, Index cols, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Matrix<float> matrix(rows, cols);
  for (Index r = 0; r < rows; ++r) {
    for (float& v : matrix.row(r)) v = normal(generator);
  }
  return matrix;
}

}  // namespace headgauge
