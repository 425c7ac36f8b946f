#include "model/positional/distance.h"

#include <ATen/ops/arange.h>

namespace heed {

at::Tensor Distances(const Tile& tile) {
  return tile.key_positions.unsqueeze(0) - tile.query_positions.unsqueeze(1);
}

at::Tensor DistanceBias(const Tile& tile, const BiasOfDistance& bias) {
  const int64_t m = tile.query_positions.size(0);
  const int64_t n = tile.key_positions.size(0);
  if (!tile.contiguous) {
    const at::Tensor values = bias(Distances(tile).flatten());
    return values.view({values.size(0), m, n});
  }
  // Distance of (i, j) is first + (m-1) - i + j with first = k_0 - q_{m-1}: row i of the view
  // starts m-1-i diagonals in. Strides may not be negative, so the diagonals are laid out backwards
  // in i by starting the view at its last row.
  const int64_t first =
      tile.key_positions[0].item<int64_t>() - tile.query_positions[m - 1].item<int64_t>();
  const at::Tensor diagonals =
      bias(at::arange(first, first + m + n - 1, tile.key_positions.options())).contiguous();
  // rows[r, j] = diagonals[r + j], r = m-1-i.
  return diagonals.unfold(1, n, 1).flip(1);
}

}  // namespace heed
