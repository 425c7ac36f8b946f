// How attention passes through several layers. Source: Abnar and Zuidema, 2020, arXiv:2005.00928,
// section 3: a layer as a graph whose edge from token i to token j carries (A[i, j] + I[i, j]) / 2,
// A the mean over heads; where a row of A is zeros (every key hidden), the row is I alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace heed {

// Rows begin … end-1 of layer `layer`'s mean over heads, [rows, n] float32. Layers count from 0,
// the first of those that take part.
using MeanRows = std::function<at::Tensor(size_t layer, int64_t begin, int64_t end)>;

// Attention rollout: those rows of the product of all layers, last · … · first, [rows, n] float64.
// Holds a few rows of one layer at a time.
at::Tensor Rollout(const MeanRows& read, size_t layer_count, int64_t n,
                   const std::vector<int64_t>& rows);

// Attention flow: the maximum flow from each of `rows` at the last layer's output to each token of
// the first one's input, [rows, n] float64. Takes seconds for 64 tokens and many rows.
at::Tensor Flow(const MeanRows& read, size_t layer_count, int64_t n,
                const std::vector<int64_t>& rows);

}  // namespace heed
