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
  const int64_t first =
      tile.key_positions[0].item<int64_t>() - tile.query_positions[m - 1].item<int64_t>();
  const at::Tensor diagonals =
      bias(at::arange(first, first + m + n - 1, tile.key_positions.options())).contiguous();
  // diagonals[x] is the bias at distance first + x, and (i, j) has x = (m-1-i) + j. As a view, row
  // i would step backwards in i; tensors have no negative strides, so turning the rows over copies.
  return diagonals.unfold(1, n, 1).flip(1);
}

Tile PairsOf(int64_t layer, const at::Tensor& positions) {
  Tile tile;
  tile.layer = layer;
  tile.length = positions.numel() == 0 ? 0 : positions.max().item<int64_t>() + 1;
  tile.query_positions = tile.key_positions = positions;
  tile.query_indices = tile.key_indices = at::arange(positions.size(0), positions.options());
  return tile;
}

}  // namespace heed
