#include "server/convert.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace heed {
namespace {

// Little-endian on any machine, as the contract says.
std::string LittleEndianBytes(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  if constexpr (std::endian::native == std::endian::big) {
    for (size_t i = 0; i < bytes.size(); i += sizeof(float)) {
      std::reverse(&bytes[i], &bytes[i] + sizeof(float));
    }
  }
  return bytes;
}

v1::Tensor ToTensor(const std::vector<float>& values, size_t rows, size_t columns) {
  v1::Tensor tensor;
  tensor.set_type(v1::TENSOR_TYPE_FLOAT32);
  tensor.add_shape(static_cast<int64_t>(rows));
  tensor.add_shape(static_cast<int64_t>(columns));
  tensor.set_data(LittleEndianBytes(values));
  return tensor;
}

v1::Entity ToProto(EntitySpan span) {
  v1::Entity entity;
  entity.set_label(std::move(span.label));
  entity.set_score(span.score);
  entity.set_start_byte(span.start_byte);
  entity.set_end_byte(span.end_byte);
  entity.set_start_char(span.start_char);
  entity.set_end_char(span.end_char);
  entity.set_segment(span.segment);
  return entity;
}

}  // namespace

google::protobuf::Duration ToProto(absl::Duration duration) {
  google::protobuf::Duration proto;
  proto.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &duration));
  proto.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(duration)));
  return proto;
}

v1::TokenUsage ToUsage(const TokenizedItem& item) {
  v1::TokenUsage usage;
  usage.set_token_count(static_cast<uint32_t>(item.input.size()));
  usage.set_original_token_count(static_cast<uint32_t>(item.original_token_count));
  usage.set_truncated(item.truncated);
  usage.set_chunk_count(1);
  return usage;
}

v1::Token ToProto(const TokenDetail& token) {
  v1::Token proto;
  proto.set_piece(token.piece);
  proto.set_id(token.id);
  proto.set_start_byte(token.start_byte);
  proto.set_end_byte(token.end_byte);
  proto.set_start_char(token.start_char);
  proto.set_end_char(token.end_char);
  proto.set_segment(token.segment);
  proto.set_special(token.special);
  return proto;
}

v1::Model ToProto(const ServedModel& model, bool is_default) {
  const ModelInfo& info = model.model.info();
  v1::Model proto;
  proto.set_name(model.name);
  proto.set_version(info.version);
  proto.set_default_(is_default);
  proto.set_architecture(info.architecture);
  proto.set_positional_encoding(info.positional_encoding);
  proto.set_attention_pattern(info.attention_pattern);
  proto.set_layer_count(static_cast<uint32_t>(info.layer_count));
  proto.set_head_count(static_cast<uint32_t>(info.head_count));
  proto.set_hidden_size(static_cast<uint32_t>(info.hidden_size));
  proto.set_max_tokens(static_cast<uint32_t>(info.max_tokens));
  for (const std::string& label : info.labels) proto.add_labels(label);
  proto.set_task(info.task);
  proto.set_accepts_pairs(info.accepts_pairs);
  proto.set_precision(info.precision);
  proto.set_device(info.device);
  proto.set_parameter_count(static_cast<uint64_t>(info.parameter_count));
  proto.set_weights_bytes(static_cast<uint64_t>(info.weights_bytes));
  proto.set_packed_bytes(static_cast<uint64_t>(info.packed_bytes));
  return proto;
}

void FillClassification(const ModelInfo& info, const ItemResult& result, uint32_t top_k,
                        bool return_logits, v1::Classification& classification) {
  std::vector<uint32_t> order(result.scores.size());
  std::iota(order.begin(), order.end(), 0);
  const size_t kept = top_k == 0 ? order.size() : std::min<size_t>(top_k, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                    [&](uint32_t a, uint32_t b) {
                      const float x = result.scores[a];
                      const float y = result.scores[b];
                      return x != y ? x > y : a < b;
                    });
  order.resize(kept);
  for (const uint32_t id : order) {
    v1::LabelScore* label = classification.add_labels();
    label->set_label(info.labels[id]);
    label->set_label_id(id);
    label->set_score(result.scores[id]);
  }
  if (return_logits) {
    classification.mutable_logits()->Add(result.logits.begin(), result.logits.end());
  }
}

void FillTokenClassification(const ModelInfo& info, absl::Span<const TokenDetail> tokens,
                             const ItemResult& result, EntityAggregation aggregation,
                             bool return_logits, v1::Classification& classification) {
  for (EntitySpan& span : FindEntities(tokens, result.token_scores, info.labels, aggregation)) {
    *classification.add_entities() = ToProto(std::move(span));
  }
  if (return_logits) {
    *classification.mutable_token_logits() =
        ToTensor(result.token_logits, tokens.size(), info.labels.size());
  }
}

void FillImportance(absl::Span<const TokenDetail> tokens, const ItemResult& result,
                    v1::Classification& classification) {
  for (const TokenDetail& token : tokens) *classification.add_tokens() = ToProto(token);
  classification.mutable_token_importance()->Add(result.importance.begin(),
                                                 result.importance.end());
}

}  // namespace heed
