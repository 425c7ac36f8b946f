// Scores against rows of a table that are picked by the relative position of two tokens: the
// arithmetic that shaw, relative_key_query, disentangled and xlnet_relative have in common. One
// product with the rows that occur, then a look-up per pair; never a vector per pair.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "model/positional/encoding.h"

namespace heed {

// x_i · table[index(i, j)]. x: [B, H, m, d]; table: [R, d], or [H, R, d] with rows for each head;
// index: [m, n] int64 in 0 … R-1. Returns [B, H, m, n].
at::Tensor RowScores(const at::Tensor& x, const at::Tensor& table, const at::Tensor& index);

// sum over j of weights(i, j) table[index(i, j)]. weights: [B, H, m, n]; table: [R, d]. Returns
// [B, H, m, d].
at::Tensor RowSums(const at::Tensor& weights, const at::Tensor& table, const at::Tensor& index);

// The row of each pair, [m, n], in a table of 2k+1 rows for distances clipped to -k … k: that of
// key position - query position, or with `query_minus_key` of its negative.
at::Tensor ClippedRows(const Tile& tile, int64_t row_count, bool query_minus_key);

}  // namespace heed
