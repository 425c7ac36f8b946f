// Biases that depend on two positions only through their difference, built per tile.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "model/positional/encoding.h"

namespace heed {

// Maps distances d = key position - query position, [r] int64, to a bias per head, [G, r] float32.
using BiasOfDistance = std::function<at::Tensor(const at::Tensor& distances)>;

// [G, m, n] float32 with bias(k_j - q_i) at (i, j). On a contiguous tile `bias` is asked for the
// m + n - 1 distances of its diagonals only; else for all m n.
at::Tensor DistanceBias(const Tile& tile, const BiasOfDistance& bias);

// Key position - query position, [m, n] int64.
at::Tensor Distances(const Tile& tile);

// A tile of every pair of these positions, without content: what Similarity asks a bias for.
Tile PairsOf(int64_t layer, const at::Tensor& positions);

}  // namespace heed
