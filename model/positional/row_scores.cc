#include "model/positional/row_scores.h"

#include <ATen/ops/bmm.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/zeros.h>

#include "model/positional/distance.h"

namespace heed {
namespace {

// The rows that an index refers to: `count` of them from `first`.
struct RowRange {
  int64_t first;
  int64_t count;
};

RowRange RangeOf(const at::Tensor& index) {
  const int64_t first = index.min().item<int64_t>();
  return {first, index.max().item<int64_t>() - first + 1};
}

// The index within the range, as [B, H, m, n] without copies.
at::Tensor Spread(const at::Tensor& index, const RowRange& range, int64_t texts, int64_t heads) {
  return (index - range.first).expand({texts, heads, index.size(0), index.size(1)});
}

}  // namespace

at::Tensor RowScores(const at::Tensor& x, const at::Tensor& table, const at::Tensor& index) {
  const int64_t texts = x.size(0), heads = x.size(1), m = x.size(2), d = x.size(3);
  const RowRange range = RangeOf(index);
  const at::Tensor rows = table.narrow(-2, range.first, range.count).transpose(-1, -2);
  at::Tensor products;  // [B, H, m, rows]
  if (rows.dim() == 2) {
    products = x.matmul(rows);
  } else {
    const at::Tensor by_head = x.transpose(0, 1).reshape({heads, texts * m, d});
    products = at::bmm(by_head, rows).view({heads, texts, m, range.count}).transpose(0, 1);
  }
  return products.gather(3, Spread(index, range, texts, heads));
}

at::Tensor RowSums(const at::Tensor& weights, const at::Tensor& table, const at::Tensor& index) {
  const int64_t texts = weights.size(0), heads = weights.size(1), m = weights.size(2);
  const RowRange range = RangeOf(index);
  at::Tensor totals = at::zeros({texts, heads, m, range.count}, weights.options());
  totals.scatter_add_(3, Spread(index, range, texts, heads), weights);
  return totals.matmul(table.narrow(0, range.first, range.count));
}

at::Tensor ClippedRows(const Tile& tile, int64_t row_count, bool query_minus_key) {
  const int64_t limit = (row_count - 1) / 2;
  const at::Tensor distances = Distances(tile);
  return (query_minus_key ? -distances : distances).clamp(-limit, limit) + limit;
}

}  // namespace heed
