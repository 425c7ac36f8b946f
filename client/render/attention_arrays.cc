#include "client/render/attention_arrays.h"

#include <utility>

#include "absl/base/casts.h"

namespace heed::cli {
namespace {

template <typename Int>
void AppendLittleEndian(Int value, std::string* bytes) {
  for (size_t i = 0; i < sizeof(Int); ++i) {
    bytes->push_back(static_cast<char>((value >> (8 * i)) & 0xFF));
  }
}

template <typename Values>
NamedArray Numbers(std::string name, const Values& values) {
  NamedArray array = {std::move(name), ArrayType::kUint32, {}, {}};
  for (const uint32_t value : values) AppendLittleEndian(value, &array.bytes);
  array.shape = {array.bytes.size() / sizeof(uint32_t)};
  return array;
}

NamedArray Weights(const AttentionData& data) {
  NamedArray array = {"weights", ArrayType::kFloat32, {}, {}};
  for (int axis = 0; axis < 4; ++axis) array.shape.push_back(data.dimension(axis));
  array.bytes.reserve(data.weights.size() * sizeof(float));
  for (const float weight : data.weights) {
    AppendLittleEndian(absl::bit_cast<uint32_t>(weight), &array.bytes);
  }
  return array;
}

void AddTokens(const v1::AttentionHeader& header, std::vector<NamedArray>* arrays) {
  const auto count = static_cast<size_t>(header.tokens_size());
  NamedArray ids = {"token_ids", ArrayType::kInt64, {count}, {}};
  NamedArray segments = {"token_segments", ArrayType::kUint32, {count}, {}};
  NamedArray special = {"token_special", ArrayType::kBool, {count}, {}};
  NamedArray in_bytes = {"token_bytes", ArrayType::kUint32, {count, 2}, {}};
  NamedArray in_chars = {"token_chars", ArrayType::kUint32, {count, 2}, {}};
  for (const v1::Token& token : header.tokens()) {
    AppendLittleEndian(static_cast<uint64_t>(token.id()), &ids.bytes);
    AppendLittleEndian(token.segment(), &segments.bytes);
    special.bytes.push_back(token.special() ? '\1' : '\0');
    AppendLittleEndian(token.start_byte(), &in_bytes.bytes);
    AppendLittleEndian(token.end_byte(), &in_bytes.bytes);
    AppendLittleEndian(token.start_char(), &in_chars.bytes);
    AppendLittleEndian(token.end_char(), &in_chars.bytes);
  }
  for (NamedArray* const array : {&ids, &segments, &special, &in_bytes, &in_chars}) {
    arrays->push_back(std::move(*array));
  }
}

}  // namespace

size_t ItemBytes(ArrayType type) {
  switch (type) {
    case ArrayType::kBool:
      return 1;
    case ArrayType::kFloat32:
    case ArrayType::kUint32:
      return 4;
    case ArrayType::kInt64:
      return 8;
  }
  return 0;
}

std::vector<NamedArray> AttentionArrays(const AttentionData& data) {
  std::vector<NamedArray> arrays = {Weights(data)};
  if (data.top_k > 0) {
    arrays.push_back(Numbers("columns", data.columns));
    arrays.back().shape = arrays.front().shape;
  }
  arrays.push_back(Numbers("layers", data.header.layers()));
  arrays.push_back(Numbers("heads", data.header.heads()));
  arrays.push_back(Numbers("query_rows", data.header.query_rows()));
  arrays.push_back(Numbers("key_columns", data.header.key_columns()));
  AddTokens(data.header, &arrays);
  return arrays;
}

std::string ReductionName(v1::AttentionReduction reduction) {
  switch (reduction) {
    case v1::ATTENTION_REDUCTION_MEAN_HEADS:
      return "mean_heads";
    case v1::ATTENTION_REDUCTION_ROLLOUT:
      return "rollout";
    case v1::ATTENTION_REDUCTION_FLOW:
      return "flow";
    case v1::ATTENTION_REDUCTION_ENTROPY:
      return "entropy";
    case v1::ATTENTION_REDUCTION_MEAN_DISTANCE:
      return "mean_distance";
    default:
      return "none";
  }
}

}  // namespace heed::cli
