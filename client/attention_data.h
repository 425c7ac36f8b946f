// One answer of AttentionService.GetAttention, put together from its tiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heed/v1/attention.pb.h"

namespace heed {

struct AttentionData {
  v1::AttentionHeader header;
  v1::AttentionReduction reduction = v1::ATTENTION_REDUCTION_UNSPECIFIED;
  // Entries a row that were asked for; 0: whole rows.
  uint32_t top_k = 0;
  // [layers, heads, rows, columns] as header.shape says, in the order of the header's lists,
  // whatever type they travelled in.
  std::vector<float> weights;
  // With top_k: the token of each weight, same shape.
  std::vector<uint32_t> columns;

  size_t dimension(int axis) const { return static_cast<size_t>(header.shape(axis)); }
  // Indices are places in the header's lists, not numbers of layers and tokens.
  size_t offset(size_t layer, size_t head, size_t row, size_t column) const {
    return ((layer * dimension(1) + head) * dimension(2) + row) * dimension(3) + column;
  }
  float at(size_t layer, size_t head, size_t row, size_t column) const {
    return weights[offset(layer, head, row, column)];
  }
};

}  // namespace heed
