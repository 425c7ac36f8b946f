// Turns the messages of one GetAttention stream into numbers, and refuses an answer that does not
// hold what its header announces: who draws or saves the result must not have to ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/attention_data.h"
#include "heed/v1/attention.pb.h"
#include "heed/v1/common.pb.h"

namespace heed {

// The nearest float32 of IEEE 754 binary16 `bits`, which is always exact.
float HalfToFloat(uint16_t bits);

// The values of `tensor` as float32, whatever type they travel in. `row_values`: values of one row,
// which share a scale in uint8. INTERNAL if data, shape, type and scales do not fit together.
absl::StatusOr<std::vector<float>> DecodeTensor(const v1::Tensor& tensor, size_t row_values);

// For one stream; not thread-safe. Errors are INTERNAL and name what does not fit, but for
// RESOURCE_EXHAUSTED where the result would take more than `max_bytes` of memory.
class AttentionDecoder {
 public:
  // What was asked for: the shape depends on it.
  AttentionDecoder(v1::AttentionReduction reduction, uint32_t top_k, uint64_t max_bytes);

  // The next message. After an error the decoder is of no more use.
  absl::Status Add(const v1::GetAttentionResponse& part);

  // What has come, after the last message; every row must have.
  absl::StatusOr<AttentionData> Finish();

  bool started() const { return started_; }
  uint64_t received_bytes() const { return received_bytes_; }
  uint64_t total_bytes() const { return data_.header.total_bytes(); }

 private:
  // Place of a layer or head in the result, by the number that a tile gives it.
  using Places = absl::flat_hash_map<uint32_t, size_t>;

  absl::Status AddHeader(const v1::AttentionHeader& header);
  absl::Status CheckShape() const;
  absl::Status AddTile(const v1::AttentionTile& tile);
  absl::Status AddColumns(const v1::AttentionTile& tile, size_t offset, size_t count);

  const uint64_t max_bytes_;
  AttentionData data_;
  bool started_ = false;
  uint64_t received_bytes_ = 0;
  Places layer_places_;
  Places head_places_;
  std::vector<bool> row_came_;  // [layers, heads, rows]
  std::vector<bool> is_key_;    // [tokens]: listed in key_columns
};

}  // namespace heed
