#include "model/attention/recorder.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>

namespace heed {

AttentionRecorder::AttentionRecorder(const std::vector<AttentionRequest>& requests,
                                     const RaggedBatch& batch, int64_t head_count) {
  for (const AttentionRequest& request : requests) {
    Slot slot{request, request.heads, {}};
    if (slot.heads.empty()) {
      slot.heads.resize(head_count);
      std::iota(slot.heads.begin(), slot.heads.end(), 0);
    }
    const int64_t keys = batch.length(request.text);
    if (slot.request.row_end < 0) slot.request.row_end = keys;
    slot.map = at::zeros(
        {static_cast<int64_t>(slot.heads.size()), slot.request.row_end - request.row_begin, keys},
        at::TensorOptions(at::kFloat));
    slots_.push_back(std::move(slot));
  }
}

bool AttentionRecorder::Wants(int64_t layer) const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [layer](const Slot& slot) { return slot.request.layer == layer; });
}

void AttentionRecorder::Record(int64_t layer, int64_t first_text, const PatternTile& tile,
                               const at::Tensor& weights) {
  for (Slot& slot : slots_) {
    const AttentionRequest& request = slot.request;
    const int64_t begin = std::max(request.row_begin, tile.row_begin);
    const int64_t end = std::min(request.row_end, tile.row_end);
    if (request.layer != layer || request.text < first_text ||
        request.text >= first_text + weights.size(0) || begin >= end) {
      continue;
    }
    const at::Tensor rows = weights[request.text - first_text]
                                .narrow(1, begin - tile.row_begin, end - begin)
                                .index_select(0, at::tensor(slot.heads, at::kLong));
    at::Tensor target = slot.map.narrow(1, begin - request.row_begin, end - begin);
    if (tile.keys.empty()) {
      target.narrow(2, tile.key_begin, tile.key_count()).copy_(rows);
    } else {
      target.index_copy_(2, at::tensor(tile.keys, at::kLong), rows);
    }
  }
}

std::vector<AttentionMap> AttentionRecorder::Take() {
  std::vector<AttentionMap> maps;
  for (const Slot& slot : slots_) {
    AttentionMap map;
    map.head_count = slot.map.size(0);
    map.row_count = slot.map.size(1);
    map.key_count = slot.map.size(2);
    const float* const data = slot.map.const_data_ptr<float>();
    map.weights.assign(data, data + slot.map.numel());
    maps.push_back(std::move(map));
  }
  return maps;
}

}  // namespace heed
