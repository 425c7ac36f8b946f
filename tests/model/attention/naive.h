// Attention by the formulas of the papers, one query and key at a time in float64: what the kernel
// is held against. Shares no code with model/.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/model/positional/tile.h"

namespace heed {

// One head of one text.
struct NaiveHead {
  int64_t head = 0;
  double scale = 1;
  std::vector<std::vector<double>> query;  // [n][Dh], after the encoding's rotation
  std::vector<std::vector<double>> key;
  std::vector<std::vector<double>> value;
  std::vector<int64_t> positions;
  std::vector<int64_t> segments;
  std::vector<std::vector<bool>> visible;  // [query][key]
  // Added to a score before the softmax (BigBird's repeated block); empty: nothing.
  std::vector<std::vector<double>> extra;

  int64_t size() const { return static_cast<int64_t>(query.size()); }
};

inline double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// An encoding as its paper states it.
struct NaiveEncoding {
  std::string name;
  Options options;
  Weights weights;
  // Turns one head's query (or key) at a position of a text of `length`.
  std::function<void(std::vector<double>& x, bool is_key, int64_t position, int64_t length)> rotate;
  // Added to the scaled score of (i, j).
  std::function<double(const NaiveHead& h, int64_t i, int64_t j)> score;
  // Added to the value of key j as query i sees it.
  std::function<std::vector<double>(const NaiveHead& h, int64_t i, int64_t j)> value;
};

struct NaiveResult {
  std::vector<std::vector<double>> weights;  // [query][key]
  std::vector<std::vector<double>> context;  // [query][Dh]
};

inline NaiveResult NaiveAttend(NaiveHead h, const NaiveEncoding& encoding) {
  const int64_t n = h.size();
  const int64_t length = *std::max_element(h.positions.begin(), h.positions.end()) + 1;
  for (int64_t i = 0; i < n && encoding.rotate; ++i) {
    encoding.rotate(h.query[i], false, h.positions[i], std::max(length, n));
    encoding.rotate(h.key[i], true, h.positions[i], std::max(length, n));
  }
  NaiveResult result;
  for (int64_t i = 0; i < n; ++i) {
    std::vector<double> weights(n, 0);
    double largest = -1e300;
    for (int64_t j = 0; j < n; ++j) {
      if (!h.visible[i][j]) continue;
      weights[j] = h.scale * Dot(h.query[i], h.key[j]);
      if (encoding.score) weights[j] += encoding.score(h, i, j);
      if (!h.extra.empty()) weights[j] += h.extra[i][j];
      largest = std::max(largest, weights[j]);
    }
    double sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      weights[j] = h.visible[i][j] ? std::exp(weights[j] - largest) : 0;
      sum += weights[j];
    }
    std::vector<double> context(h.value[0].size(), 0);
    for (int64_t j = 0; j < n && sum > 0; ++j) {
      weights[j] /= sum;
      const std::vector<double> more =
          encoding.value ? encoding.value(h, i, j) : std::vector<double>(context.size(), 0);
      for (size_t d = 0; d < context.size(); ++d) {
        context[d] += weights[j] * (h.value[j][d] + more[d]);
      }
    }
    result.weights.push_back(std::move(weights));
    result.context.push_back(std::move(context));
  }
  return result;
}

// Every encoding that acts in attention (and the rest, which must not), with random weights, for
// heads of `head_size`, `heads` of them, one layer.
std::vector<NaiveEncoding> NaiveEncodings(int64_t heads, int64_t head_size);

}  // namespace heed
