// CoPE: contextual positions, counted in tokens that the query finds worth counting. A gate
// g_ik = sigmoid(q_i · k_k) says how much token k counts for query i; the position of key j is
//   p_ij = min(R - 1, sum of g_ik over the tokens k between i and j, both included),
// and the score gets scale * q_i · e[p_ij], where e[p] of a fraction is interpolated between
// e[floor(p)] and e[ceil(p)].
// Source: Golovneva et al., "Contextual Position Encoding: Learning to Count What's Important",
// 2024, arXiv:2405.18719, equations 3 to 6.
//
// The paper's models are causal, with j <= i. Here tokens are counted the same way on both sides of
// the query, so that two keys with the same count have the same vector whichever side they are on.
// Between is meant in the order of the text, whatever the positions. Only tokens that the query may
// see are counted; a query that does not see itself does not count itself.
// As in the paper gates are of q·k before it is scaled; e is added to the key, so its term is
// scaled with q·k. Counts are summed in float64. Options: none.
// Weights: layers.N.positional.table [R, Dh], or positional.table for all layers.
// Similarity: none, since positions are made of content.

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/where.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "model/positional/options.h"

namespace heed {
namespace {

// Pairs that are computed at once: each takes several numbers of 8 bytes on the way.
constexpr int64_t kMaxPairs = int64_t{1} << 20;

// p_ij without the cap, [B, H, m, n] float64.
at::Tensor Counts(const Tile& tile) {
  at::Tensor gates = at::matmul(tile.query, tile.key.transpose(-2, -1)).sigmoid_();
  if (tile.visible.defined()) gates.masked_fill_(tile.visible.logical_not(), 0);
  // before[k] is what the tile's keys before its k-th count for, k = 0 … n.
  const at::Tensor before = at::constant_pad_nd(gates, {1, 0}).cumsum(-1, at::kDouble);
  const int64_t n = gates.size(-1);
  // The same for the keys before the query, with or without itself (where it is one), [B, H, m, 1].
  const auto before_query = [&](bool with_itself) {
    const at::Tensor place = at::searchsorted(tile.key_indices, tile.query_indices,
                                              /*out_int32=*/false, /*right=*/with_itself);
    return before.gather(-1, place.expand(before.sizes().slice(0, 3)).unsqueeze(-1));
  };
  const at::Tensor is_after = tile.key_indices >= tile.query_indices.unsqueeze(1);  // [m, n]
  const at::Tensor up_to_query = before_query(true) - before.narrow(-1, 0, n);
  const at::Tensor from_query = before.narrow(-1, 1, n) - before_query(false);
  return at::where(is_after, from_query, up_to_query);
}

// The term of a tile, [B, H, m, n]. table: [R, Dh].
at::Tensor Score(const Tile& tile, const at::Tensor& table) {
  const int64_t last = table.size(0) - 1;
  const at::Tensor counts = Counts(tile);
  // Here is the cap: from R-1 on both neighbours are the last row. A count that is not a number has
  // no row, but must not lead outside the table.
  const at::Tensor floor = counts.to(at::kLong).clamp_(0, last);
  const at::Tensor share = (counts - floor).to(at::kFloat);
  const at::Tensor products = tile.query.matmul(table.t()).mul_(tile.scale);  // [B, H, m, R]
  const at::Tensor low = products.gather(-1, floor);
  return products.gather(-1, (floor + 1).clamp_max_(last)).sub_(low).mul_(share).add_(low);
}

// What Score needs of the rows first … first+count-1.
Tile RowsOf(const Tile& tile, int64_t first, int64_t count) {
  Tile rows = tile;
  rows.query = tile.query.narrow(2, first, count);
  rows.query_indices = tile.query_indices.narrow(0, first, count);
  if (tile.visible.defined()) rows.visible = tile.visible.narrow(0, first, count);
  return rows;
}

class Cope : public PositionalEncoding {
 public:
  explicit Cope(LayerTensors tables) : tables_(std::move(tables)) {}

  bool reads_content() const override { return true; }

  std::optional<at::Tensor> ContentScore(const Tile& tile) const override {
    const at::Tensor table = TensorOf(tables_, tile.layer);
    if (!table.defined()) return std::nullopt;
    const int64_t texts = tile.query.size(0), heads = tile.query.size(1), m = tile.query.size(2);
    const int64_t n = tile.key.size(2);
    const int64_t step = std::max<int64_t>(kMaxPairs / (texts * heads * n), 1);
    if (step >= m) return Score(tile, table);
    at::Tensor scores = at::empty({texts, heads, m, n}, tile.query.options());
    for (int64_t first = 0; first < m; first += step) {
      const int64_t count = std::min(step, m - first);
      scores.narrow(2, first, count).copy_(Score(RowsOf(tile, first, count), table));
    }
    return scores;
  }

 private:
  const LayerTensors tables_;  // [R, Dh]
};

}  // namespace

absl::StatusOr<std::unique_ptr<PositionalEncoding>> Make_cope(const EncodingSpec& spec) {
  EncodingReader reader("cope", spec);
  LayerTensors tables = reader.LayerWeights("table", {-1, spec.head_size});
  for (const auto& [layer, table] : tables) {
    if (table.size(0) > 0) continue;
    reader.BadTensor("positional.table", absl::StrCat("of layer ", layer, " has no rows"));
  }
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return std::make_unique<Cope>(std::move(tables));
}

}  // namespace heed
