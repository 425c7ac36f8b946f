// Attention made small enough to look at: one matrix, the pairs that stand out, a line a layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/attention_data.h"

namespace heed::cli {

// Whether `reduction` leaves one number a row instead of weights.
bool IsOneNumberARow(v1::AttentionReduction reduction);

// Weights between tokens.
struct AttentionMatrix {
  std::vector<uint32_t> rows;     // tokens that look: indices in header.tokens
  std::vector<uint32_t> columns;  // tokens looked at
  std::vector<float> weights;     // [rows, columns]

  float at(size_t row, size_t column) const { return weights[row * columns.size() + column]; }
};

// The mean over the heads that were fetched of one layer, which is counted in the header's list.
// Of data with weights; what top_k left out counts as 0.
AttentionMatrix MeanOverHeads(const AttentionData& data, size_t layer);

struct LayerSummary {
  double entropy = 0.0;        // nats, mean over the heads and rows that were fetched
  double mean_distance = 0.0;  // tokens, likewise: sum of weight * |query - key|
  double special_share = 0.0;  // of a row's weight, on special tokens
};

// Of data with weights, over the columns that were fetched.
LayerSummary SummarizeLayer(const AttentionData& data, size_t layer);

struct AttendedPair {
  uint32_t from = 0;
  uint32_t to = 0;
  float weight = 0.0f;
};

// The `count` largest weights between two tokens that are not special, largest first; of all
// tokens where every one is special. Ties: the earlier in the text.
std::vector<AttendedPair> TopPairs(const AttentionMatrix& matrix, const v1::AttentionHeader& header,
                                   size_t count);

}  // namespace heed::cli
