// Biases that depend on two positions only through their difference, built per tile without ever
// holding more than the tile's own diagonals.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "model/positional/encoding.h"

namespace heed {

// Maps distances d = key position - query position, [r] int64, to a bias per head, [G, r] float32.
using BiasOfDistance = std::function<at::Tensor(const at::Tensor& distances)>;

// [G, m, n] float32 with bias(k_j - q_i) at (i, j). On a contiguous tile the result is a view of
// its m + n - 1 diagonals: read-only, and cheap however large the tile is.
at::Tensor DistanceBias(const Tile& tile, const BiasOfDistance& bias);

// Key position - query position, [m, n] int64.
at::Tensor Distances(const Tile& tile);

}  // namespace heed
