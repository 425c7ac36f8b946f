#include "model/encoder/encoder.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "model/api/error.h"

namespace heed {
namespace {

absl::StatusOr<EncoderLayer> MakeLayer(const ModelConfig& config, const Weights& weights,
                                       int64_t index) {
  const std::string role = absl::StrCat("layers.", index, ".");
  const Linear query = weights.GetLinear(role + "attention.query");
  const Linear key = weights.GetLinear(role + "attention.key");
  const Linear value = weights.GetLinear(role + "attention.value");
  absl::StatusOr<Activation> activation = FindActivation(config.activation);
  if (!activation.ok()) return activation.status();
  EncoderLayer layer;
  layer.head_count = config.head_count;
  layer.query_key_value = {at::cat({query.weight, key.weight, value.weight}),
                           at::cat({query.bias, key.bias, value.bias})};
  layer.attention_output = weights.GetLinear(role + "attention.output");
  layer.attention_norm = weights.GetLayerNorm(role + "attention.norm", config.layer_norm_eps);
  layer.intermediate = weights.GetLinear(role + "intermediate");
  layer.activation = *activation;
  layer.output = weights.GetLinear(role + "output");
  layer.output_norm = weights.GetLayerNorm(role + "norm", config.layer_norm_eps);
  return layer;
}

absl::Status BadBatch(absl::string_view what) {
  return MakeError(absl::StatusCode::kInvalidArgument, "BAD_BATCH", what);
}

// Every value in [0, limit); limit 0 means any value.
absl::Status CheckRange(const std::vector<int64_t>& values, int64_t limit, absl::string_view what) {
  if (limit == 0) return absl::OkStatus();
  for (const int64_t value : values) {
    if (value < 0 || value >= limit) {
      return MakeError(absl::StatusCode::kInvalidArgument, "OUT_OF_RANGE",
                       absl::StrCat(what, " ", value, " is not in [0, ", limit, ")"),
                       {{"value", absl::StrCat(value)}, {"limit", absl::StrCat(limit)}});
    }
  }
  return absl::OkStatus();
}

// The vector's memory as a tensor; it must outlive the result.
at::Tensor View(const std::vector<int64_t>& values) {
  return at::from_blob(const_cast<int64_t*>(values.data()), {static_cast<int64_t>(values.size())},
                       at::TensorOptions(at::kLong));
}

}  // namespace

absl::StatusOr<Encoder> Encoder::Create(const ModelConfig& config, const Weights& weights) {
  EncodingSpec spec;
  spec.hidden_size = config.hidden_size;
  spec.head_count = config.head_count;
  spec.layer_count = config.layer_count;
  spec.options = config.positional_options;
  spec.weight = [&weights](absl::string_view role) { return weights.Find(role); };
  auto positional = MakePositionalEncoding(config.positional_encoding, spec);
  if (!positional.ok()) return positional.status();

  Encoder encoder;
  encoder.embeddings_.word = weights.Get("embeddings.word");
  encoder.embeddings_.segment = weights.Get("embeddings.segment");
  encoder.embeddings_.positional = *std::move(positional);
  encoder.embeddings_.norm = weights.GetLayerNorm("embeddings.norm", config.layer_norm_eps);
  for (int64_t i = 0; i < config.layer_count; ++i) {
    absl::StatusOr<EncoderLayer> layer = MakeLayer(config, weights, i);
    if (!layer.ok()) return layer.status();
    encoder.layers_.push_back(*std::move(layer));
  }
  return encoder;
}

absl::Status Encoder::Check(const RaggedBatch& batch) const {
  const size_t token_count = batch.token_count();
  if (batch.cu_seqlens.size() < 2 || batch.cu_seqlens.front() != 0 ||
      batch.cu_seqlens.back() != static_cast<int64_t>(token_count)) {
    return BadBatch("cu_seqlens does not go from 0 to the number of tokens");
  }
  for (size_t b = 0; b < batch.text_count(); ++b) {
    if (batch.cu_seqlens[b + 1] <= batch.cu_seqlens[b]) {
      return BadBatch(absl::StrCat("text ", b, " has no token"));
    }
  }
  if (batch.segments.size() != token_count || batch.positions.size() != token_count ||
      (!batch.key_mask.empty() && batch.key_mask.size() != token_count)) {
    return BadBatch("ids, segments, positions and key_mask differ in length");
  }
  if (absl::Status status = CheckRange(batch.ids, embeddings_.word.size(0), "token id");
      !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckRange(batch.segments, embeddings_.segment.size(0), "segment");
      !status.ok()) {
    return status;
  }
  return CheckRange(batch.positions, embeddings_.positional->position_limit(), "position");
}

at::Tensor Encoder::Forward(const RaggedBatch& batch,
                            std::vector<at::Tensor>* hidden_states) const {
  const AttentionLayout layout{batch.cu_seqlens, batch.key_mask};
  at::Tensor x = embeddings_.Forward(View(batch.ids), View(batch.segments), View(batch.positions));
  if (hidden_states != nullptr) hidden_states->push_back(x);
  for (const EncoderLayer& layer : layers_) {
    x = layer.Forward(x, layout);
    if (hidden_states != nullptr) hidden_states->push_back(x);
  }
  return x;
}

}  // namespace heed
