// Attention as whole matrices, however it was sent.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/attention_data.h"

namespace heed::cli {

// INVALID_ARGUMENT unless shape, lists and weights of `data` fit each other and hold something.
absl::Status CheckAttention(const AttentionData& data);

// Whether each row is one number, as for ENTROPY and MEAN_DISTANCE.
bool HasOneNumberARow(const AttentionData& data);

// Columns of the matrices below: the key columns, or 1 for one number a row.
size_t DenseColumns(const AttentionData& data);

// Matrix of one layer and head, [rows, DenseColumns]. Where top_k left a weight out: not a number.
// `data` has passed CheckAttention.
std::vector<float> DenseMatrix(const AttentionData& data, size_t layer, size_t head);

// "L3" and "H7" of places in the header's lists; "mean" and "all" where a reduction has taken that
// dimension away.
std::string LayerName(const AttentionData& data, size_t layer);
std::string HeadName(const AttentionData& data, size_t head);

// The pieces of the tokens at these indices.
std::vector<std::string> TokenPieces(const v1::AttentionHeader& header,
                                     const google::protobuf::RepeatedField<uint32_t>& indices);

}  // namespace heed::cli
