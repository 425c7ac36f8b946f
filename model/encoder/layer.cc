#include "model/encoder/layer.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>

#include "absl/strings/str_cat.h"

namespace heed {
namespace {

// A joined matrix where the checkpoint has one, else the three joined here.
Linear JoinedQueryKeyValue(const Weights& weights, const std::string& role) {
  if (weights.Has(role + "query_key_value.weight")) {
    Linear joined = weights.GetLinear(role + "query_key_value");
    if (!joined.bias.defined() && weights.Has(role + "query.bias")) {
      // DeBERTa: queries and values have a bias, keys have none.
      const at::Tensor query = weights.Get(role + "query.bias");
      joined.bias = at::cat({query, at::zeros_like(query), weights.Get(role + "value.bias")});
    }
    return joined;
  }
  return weights.GetJoinedLinear({role + "query", role + "key", role + "value"});
}

}  // namespace

absl::StatusOr<EncoderLayer> EncoderLayer::Create(const ModelConfig& config, const Weights& weights,
                                                  int64_t source) {
  absl::StatusOr<Activation> activation = FindActivation(config.activation);
  if (!activation.ok()) return activation.status();
  const std::string role = absl::StrCat("layers.", source, ".");
  EncoderLayer layer;
  layer.pre_norm_ = config.pre_norm;
  layer.head_count_ = config.head_count;
  layer.key_value_head_count_ = config.key_value_heads();
  layer.head_size_ = config.head_width();
  layer.query_key_value_ = JoinedQueryKeyValue(weights, role + "attention.");
  if (weights.Has(role + "global_attention.query.weight")) {
    layer.global_query_key_value_ = JoinedQueryKeyValue(weights, role + "global_attention.");
  }
  layer.attention_output_ = weights.GetLinear(role + "attention.output");
  layer.attention_norm_ = weights.GetNorm(role + "attention.norm", config.norm, config.norm_eps);
  if (!config.gated) {
    layer.feed_forward_.up = weights.GetLinear(role + "intermediate");
  } else if (weights.Has(role + "intermediate.weight")) {
    layer.feed_forward_.up = weights.GetLinear(role + "intermediate");
  } else {
    layer.feed_forward_.up =
        weights.GetJoinedLinear({role + "intermediate.gate", role + "intermediate.up"});
  }
  layer.feed_forward_.down = weights.GetLinear(role + "output");
  layer.feed_forward_.activation = *activation;
  layer.feed_forward_.gated = config.gated;
  layer.output_norm_ = weights.GetNorm(role + "norm", config.norm, config.norm_eps);
  return layer;
}

QueryKeyValue EncoderLayer::Project(const Linear& linear, const at::Tensor& x) const {
  const at::Tensor joined = linear(x);
  const int64_t tokens = x.size(0);
  const int64_t query = head_count_ * head_size_;
  const int64_t key = key_value_head_count_ * head_size_;
  return {joined.narrow(1, 0, query).view({tokens, head_count_, head_size_}),
          joined.narrow(1, query, key).view({tokens, key_value_head_count_, head_size_}),
          joined.narrow(1, query + key, key).view({tokens, key_value_head_count_, head_size_})};
}

at::Tensor EncoderLayer::Forward(const at::Tensor& x, const AttentionSettings& settings,
                                 const AttentionLayout& layout, AttentionRecorder* recorder) const {
  const at::Tensor input = pre_norm_ ? attention_norm_(x) : x;
  std::optional<QueryKeyValue> global;
  if (global_query_key_value_.has_value()) global = Project(*global_query_key_value_, input);
  const at::Tensor context =
      Attend(Project(query_key_value_, input), global.has_value() ? &*global : nullptr, settings,
             layout, recorder);
  at::Tensor attended = attention_output_(context.flatten(1)).add_(x);
  if (!pre_norm_) attended = attention_norm_(attended);
  const at::Tensor y = feed_forward_(pre_norm_ ? output_norm_(attended) : attended).add_(attended);
  return pre_norm_ ? y : output_norm_(y);
}

}  // namespace heed
