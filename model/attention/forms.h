// What is made of a tile's weights before they are kept.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/api/attention.h"
#include "model/attention/pattern.h"

namespace heed {

// Heads of a map in `form` made of `heads` heads.
int64_t FormHeads(AttentionForm form, int64_t heads);
// Numbers a row.
int64_t FormWidth(AttentionForm form, int64_t keys);

// Puts the tile's rows, in `form`, into `map`: [heads, rows, keys] whose first row is query
// `first_row`. weights: [H, m, n] of the tile, its heads being those that are wanted. Keys outside
// the tile keep what they have.
void PutRows(AttentionForm form, const PatternTile& tile, const at::Tensor& weights,
             int64_t first_row, at::Tensor& map);

// The map as plain numbers.
AttentionMap ToMap(const at::Tensor& map);

}  // namespace heed
