#include "model/attention/rollout.h"

#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "model/attention/max_flow.h"

namespace heed {
namespace {

constexpr int64_t kBlockRows = 128;

}  // namespace

at::Tensor Rollout(const MeanRows& read, size_t layer_count, int64_t n,
                   const std::vector<int64_t>& rows) {
  const auto count = static_cast<int64_t>(rows.size());
  at::Tensor product = at::zeros({count, n}, at::TensorOptions(at::kDouble));
  for (int64_t i = 0; i < count; ++i) product[i][rows[i]].fill_(1);
  for (size_t layer = layer_count; layer-- > 0;) {
    at::Tensor next = at::zeros_like(product);
    for (int64_t begin = 0; begin < n; begin += kBlockRows) {
      const int64_t end = std::min(n, begin + kBlockRows);
      at::Tensor reached = product.narrow(1, begin, end - begin);
      // At the last layer few rows are asked for.
      if (!reached.any().item<bool>()) continue;
      const at::Tensor attention = read(layer, begin, end).to(at::kDouble);
      reached = reached.div(attention.sum(-1).add_(1));
      next.narrow(1, begin, end - begin).add_(reached);
      next.add_(at::matmul(reached, attention));
    }
    product = next;
  }
  return product;
}

at::Tensor Flow(const MeanRows& read, size_t layer_count, int64_t n,
                const std::vector<int64_t>& rows) {
  // Node (level, token): level 0 the first layer's input, level layer_count the last one's output.
  const auto node = [n](size_t level, int64_t token) {
    return static_cast<int64_t>(level) * n + token;
  };
  MaxFlow graph(node(layer_count, n));
  for (size_t layer = 0; layer < layer_count; ++layer) {
    const at::Tensor attention = read(layer, 0, n).to(at::kDouble).contiguous();
    const double* const a = attention.const_data_ptr<double>();
    for (int64_t i = 0; i < n; ++i) {
      double sum = 1;
      for (int64_t j = 0; j < n; ++j) sum += a[i * n + j];
      for (int64_t j = 0; j < n; ++j) {
        graph.AddEdge(node(layer + 1, i), node(layer, j), (a[i * n + j] + (i == j ? 1 : 0)) / sum);
      }
    }
  }
  at::Tensor flow =
      at::zeros({static_cast<int64_t>(rows.size()), n}, at::TensorOptions(at::kDouble));
  double* out = flow.mutable_data_ptr<double>();
  for (const int64_t row : rows) {
    for (int64_t key = 0; key < n; ++key) {
      *out++ = graph.Solve(node(layer_count, row), node(0, key));
    }
  }
  return flow;
}

}  // namespace heed
