// Attention as named arrays, the form in which files for analysis hold it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "client/attention_data.h"

namespace heed::cli {

enum class ArrayType { kBool, kFloat32, kUint32, kInt64 };

// The bytes of one value.
size_t ItemBytes(ArrayType type);

struct NamedArray {
  std::string name;
  ArrayType type = ArrayType::kFloat32;
  std::vector<size_t> shape;
  std::string bytes;  // row-major, little-endian
};

// "weights" [layers, heads, rows, columns]; with top_k "columns", the token of each weight, of the
// same shape; "layers", "heads", "query_rows" and "key_columns" as in the header; and of every
// token "token_ids", "token_segments", "token_special", "token_bytes" and "token_chars" (the last
// two [tokens, 2]: start and end).
std::vector<NamedArray> AttentionArrays(const AttentionData& data);

// "none", "mean_heads", "rollout", "flow", "entropy", "mean_distance": as flags and files have it.
std::string ReductionName(v1::AttentionReduction reduction);

}  // namespace heed::cli
