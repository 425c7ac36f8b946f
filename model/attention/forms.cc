#include "model/attention/forms.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/tensor.h>

#include <limits>

#include "model/attention/tile_scores.h"

namespace heed {
namespace {

// |query - key| in tokens, [m, n] float32.
at::Tensor Distances(const PatternTile& tile, const TileKeys& keys) {
  const auto options = at::TensorOptions(at::kLong);
  const at::Tensor key =
      keys.index.defined() ? keys.index : at::arange(keys.begin, keys.begin + keys.count, options);
  const at::Tensor query = at::arange(tile.row_begin, tile.row_end, options).unsqueeze(1);
  return query.sub(key).abs_().to(at::kFloat);
}

}  // namespace

int64_t FormHeads(AttentionForm form, int64_t heads) {
  return form == AttentionForm::kMeanHeads ? 1 : heads;
}

int64_t FormWidth(AttentionForm form, int64_t keys) {
  return form == AttentionForm::kWeights || form == AttentionForm::kMeanHeads ? keys : 1;
}

void PutRows(AttentionForm form, const PatternTile& tile, const at::Tensor& weights,
             int64_t first_row, at::Tensor& map) {
  at::Tensor target = map.narrow(1, tile.row_begin - first_row, tile.row_count());
  const TileKeys keys(tile);
  if (form == AttentionForm::kEntropy) {
    // The smallest normal number stands for 0: what it is multiplied with is 0. The logarithm of a
    // whole tensor is vectorised, where special_entr is not.
    const at::Tensor logs = weights.clamp_min(std::numeric_limits<float>::min()).log_();
    target.copy_(logs.mul_(weights).sum(-1, true).neg_());
    return;
  }
  if (form == AttentionForm::kMeanDistance) {
    target.copy_(weights.mul(Distances(tile, keys)).sum(-1, true));
    return;
  }
  const at::Tensor rows = form == AttentionForm::kMeanHeads ? weights.mean(0, true) : weights;
  if (keys.index.defined()) {
    target.index_copy_(2, keys.index, rows);
  } else {
    target.narrow(2, keys.begin, keys.count).copy_(rows);
  }
}

AttentionMap ToMap(const at::Tensor& map) {
  AttentionMap result;
  result.head_count = map.size(0);
  result.row_count = map.size(1);
  result.key_count = map.size(2);
  const at::Tensor plain = map.contiguous();
  const float* const data = plain.const_data_ptr<float>();
  result.weights.assign(data, data + plain.numel());
  return result;
}

}  // namespace heed
