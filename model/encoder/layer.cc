#include "model/encoder/layer.h"

namespace heed {

at::Tensor EncoderLayer::Forward(const at::Tensor& x, const AttentionLayout& layout) const {
  const int64_t token_count = x.size(0);
  const int64_t width = x.size(1);
  const at::Tensor qkv = query_key_value(x).view({token_count, 3, head_count, width / head_count});
  const at::Tensor context = Attend(qkv, layout).view({token_count, width});
  const at::Tensor attended = attention_norm(attention_output(context).add_(x));
  return output_norm(output(activation(intermediate(attended))).add_(attended));
}

}  // namespace heed
