#include "model/attention/attention.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>

namespace heed {
namespace {

// Additive mask [1, 1, 1, n] of one text, or an undefined tensor when no key is hidden.
at::Tensor KeyBias(const std::vector<uint8_t>& key_mask, int64_t begin, int64_t end,
                   const at::TensorOptions& options) {
  const auto first = key_mask.begin() + begin;
  const auto last = key_mask.begin() + end;
  if (std::find(first, last, 0) == last) return {};
  at::Tensor bias = at::zeros({1, 1, 1, end - begin}, options);
  for (int64_t i = begin; i < end; ++i) {
    if (key_mask[i] == 0) {
      bias[0][0][0][i - begin] = -std::numeric_limits<float>::infinity();
    }
  }
  return bias;
}

// Texts first … last-1, all of one length, as one dense call.
void AttendGroup(const at::Tensor& qkv, int64_t begin, int64_t text_count, int64_t length,
                 const at::Tensor& bias, at::Tensor& context) {
  const int64_t head_count = qkv.size(2);
  const int64_t head_size = qkv.size(3);
  const at::Tensor group = qkv.narrow(0, begin, text_count * length)
                               .view({text_count, length, 3, head_count, head_size})
                               .permute({2, 0, 3, 1, 4});  // [3, B, H, n, Dh]
  std::optional<at::Tensor> mask;
  if (bias.defined()) mask = bias;
  const at::Tensor result =
      at::scaled_dot_product_attention(group[0], group[1], group[2], mask);  // [B, H, n, Dh]
  context.narrow(0, begin, text_count * length)
      .view({text_count, length, head_count, head_size})
      .copy_(result.transpose(1, 2));
}

}  // namespace

at::Tensor Attend(const at::Tensor& qkv, const AttentionLayout& layout) {
  at::Tensor context = at::empty({qkv.size(0), qkv.size(2), qkv.size(3)}, qkv.options());
  const std::vector<int64_t>& cu = layout.cu_seqlens;
  const size_t text_count = cu.size() - 1;
  for (size_t first = 0; first < text_count;) {
    const int64_t length = cu[first + 1] - cu[first];
    if (!layout.key_mask.empty()) {
      const auto mask_begin = layout.key_mask.begin() + cu[first];
      if (std::find_if(mask_begin, mask_begin + length, [](uint8_t m) { return m != 0; }) ==
          mask_begin + length) {
        context.narrow(0, cu[first], length).zero_();
      } else {
        const at::Tensor bias = KeyBias(layout.key_mask, cu[first], cu[first + 1], qkv.options());
        AttendGroup(qkv, cu[first], 1, length, bias, context);
      }
      ++first;
      continue;
    }
    // Neighbours of one length share a call: the dispatch costs more than a short text.
    size_t last = first + 1;
    while (last < text_count && cu[last + 1] - cu[last] == length) ++last;
    AttendGroup(qkv, cu[first], static_cast<int64_t>(last - first), length, {}, context);
    first = last;
  }
  return context;
}

}  // namespace heed
