#include "model/attention/recorder.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>

#include "model/attention/forms.h"

namespace heed {

AttentionRequest Spelled(AttentionRequest request, int64_t head_count, int64_t length) {
  if (request.heads.empty()) {
    request.heads.resize(head_count);
    std::iota(request.heads.begin(), request.heads.end(), 0);
  }
  if (request.row_end < 0) request.row_end = length;
  return request;
}

AttentionRecorder::AttentionRecorder(const std::vector<AttentionRequest>& requests,
                                     const RaggedBatch& batch, int64_t head_count)
    : batch_(batch), head_count_(head_count) {
  for (const AttentionRequest& request : requests) {
    const int64_t keys = batch.length(request.text);
    Slot slot{Spelled(request, head_count, keys), {}, false, {}};
    slot.heads = slot.request.heads;
    slot.all_heads = slot.heads == Spelled({}, head_count, keys).heads;
    slot.map = at::zeros({FormHeads(request.form, static_cast<int64_t>(slot.heads.size())),
                          slot.request.row_end - request.row_begin, FormWidth(request.form, keys)},
                         at::TensorOptions(at::kFloat));
    slots_.push_back(std::move(slot));
  }
}

size_t AttentionRecorder::Keep(const AttentionRequest& request) {
  kept_.push_back({Spelled(request, head_count_, batch_.length(request.text)), {}});
  return kept_.size() - 1;
}

bool AttentionRecorder::Wants(int64_t layer) const {
  const auto of_layer = [layer](const auto& slot) { return slot.request.layer == layer; };
  return std::any_of(slots_.begin(), slots_.end(), of_layer) ||
         std::any_of(kept_.begin(), kept_.end(), of_layer);
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
    at::Tensor rows =
        weights[request.text - first_text].narrow(1, begin - tile.row_begin, end - begin);
    if (!slot.all_heads) rows = rows.index_select(0, at::tensor(slot.heads, at::kLong));
    PutRows(request.form, NarrowRows(tile, begin, end), rows, request.row_begin, slot.map);
  }
}

void AttentionRecorder::Record(const AttentionSettings& settings, int64_t first_text,
                               const TextTensors& texts) {
  for (Kept& kept : kept_) {
    const AttentionRequest& request = kept.request;
    const int64_t text = request.text - first_text;
    if (request.layer != settings.layer || text < 0 || text >= texts.query.size(0)) continue;
    kept.layer =
        LazyLayer(settings, texts, text, request.heads, request.row_begin, request.row_end);
  }
}

std::vector<AttentionMap> AttentionRecorder::Take(size_t count) const {
  std::vector<AttentionMap> maps;
  for (size_t i = 0; i < count; ++i) maps.push_back(ToMap(slots_[i].map));
  return maps;
}

}  // namespace heed
