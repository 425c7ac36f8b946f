// Plain loops in float64 that the tests of encoder parts compare with.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace heed {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

// `count` rows of numbers that stand end to end.
inline Matrix ToMatrix(const std::vector<float>& values, size_t count) {
  Matrix rows(count);
  const size_t width = values.size() / count;
  for (size_t i = 0; i < values.size(); ++i) rows[i / width].push_back(values[i]);
  return rows;
}

// W x + b; b empty: none.
inline Vector NaiveLinear(const Matrix& weight, const Vector& bias, const Vector& x) {
  Vector y;
  for (size_t i = 0; i < weight.size(); ++i) {
    double sum = bias.empty() ? 0 : bias[i];
    for (size_t j = 0; j < x.size(); ++j) sum += weight[i][j] * x[j];
    y.push_back(sum);
  }
  return y;
}

// Ba, Kiros and Hinton, 2016, arXiv:1607.06450, equation 4.
inline Vector NaiveLayerNorm(const Vector& weight, const Vector& bias, double eps,
                             const Vector& x) {
  const auto size = static_cast<double>(x.size());
  double mean = 0;
  for (const double value : x) mean += value / size;
  double variance = 0;
  for (const double value : x) variance += (value - mean) * (value - mean) / size;
  Vector y;
  for (size_t i = 0; i < x.size(); ++i) {
    y.push_back((x[i] - mean) / std::sqrt(variance + eps) * weight[i] + bias[i]);
  }
  return y;
}

inline double NaiveGelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }

}  // namespace heed
