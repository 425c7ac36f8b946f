#include "model/attention_collector.h"

#include <numeric>
#include <utility>

#include "model/attention_sources.h"
#include "model/encoder/check_batch.h"

namespace heed {

absl::Status CheckWants(const Wants& wants, const RaggedBatch& batch, const ModelInfo& info) {
  const auto check = [&](const AttentionRequest& request) {
    return CheckRequest(request, batch, info.layer_count, info.head_count);
  };
  for (const AttentionRequest& request : wants.attention) {
    if (absl::Status status = check(request); !status.ok()) return status;
  }
  for (const CaptureRequest& capture : wants.captures) {
    AttentionRequest request{0, capture.text, capture.heads, capture.row_begin, capture.row_end};
    absl::Status status = check(request);
    for (const int64_t layer : capture.layers) {
      request.layer = layer;
      if (status.ok()) status = check(request);
    }
    if (!status.ok()) return status;
  }
  for (const ImportanceRequest& request : wants.importance) {
    if (absl::Status status = check({0, request.text, {}, 0, -1}); !status.ok()) return status;
  }
  return absl::OkStatus();
}

AttentionCollector::AttentionCollector(const Wants& wants, const RaggedBatch& batch,
                                       const ModelInfo& info)
    : wants_(wants), batch_(batch), info_(info), requests_(wants.attention) {
  for (const CaptureRequest& request : wants.captures) captures_.push_back(Plan(request));
  for (const ImportanceRequest& request : wants.importance) {
    CaptureRequest capture;
    capture.text = request.text;
    capture.form = AttentionForm::kMeanHeads;
    capture.eager = true;
    if (request.kind == Importance::kMeanLastLayerCls) {
      capture.layers = {info.layer_count - 1};
      capture.row_begin = SummaryRow(request.text);
      capture.row_end = capture.row_begin + 1;
    } else {
      // Whichever is smaller: a map, or what it is made from.
      capture.eager = batch.length(request.text) <= 2 * info.hidden_size;
    }
    importance_.push_back(Plan(std::move(capture)));
  }
  empty_ = requests_.empty() && kept_.empty();
  recorder_ = std::make_unique<AttentionRecorder>(requests_, batch, info.head_count);
  for (const AttentionRequest& request : kept_) recorder_->Keep(request);
}

AttentionCollector::Capture AttentionCollector::Plan(CaptureRequest request) {
  if (request.layers.empty()) {
    request.layers.resize(info_.layer_count);
    std::iota(request.layers.begin(), request.layers.end(), 0);
  }
  const AttentionRequest spelled =
      Spelled({0, request.text, request.heads, request.row_begin, request.row_end, request.form},
              info_.head_count, batch_.length(request.text));
  request.heads = spelled.heads;
  request.row_end = spelled.row_end;
  Capture capture{std::move(request), {}};
  std::vector<AttentionRequest>& target = capture.request.eager ? requests_ : kept_;
  for (const int64_t layer : capture.request.layers) {
    capture.places.push_back(target.size());
    target.push_back(spelled);
    target.back().layer = layer;
  }
  return capture;
}

std::shared_ptr<const AttentionSource> AttentionCollector::Source(const Capture& capture) {
  SourceShape shape{capture.request, batch_.length(capture.request.text)};
  if (capture.request.eager) {
    std::vector<at::Tensor> maps;
    for (const size_t place : capture.places) maps.push_back(recorder_->map(place));
    return MakeEagerSource(std::move(shape), std::move(maps));
  }
  std::vector<LazyLayer> layers;
  for (const size_t place : capture.places) layers.push_back(recorder_->TakeKept(place));
  return MakeLazySource(std::move(shape), std::move(layers));
}

int64_t AttentionCollector::SummaryRow(int64_t text) const {
  return info_.summary_token < 0 ? batch_.length(text) + info_.summary_token : info_.summary_token;
}

absl::Status AttentionCollector::Finish(RunOutput& output) {
  output.attention = recorder_->Take(wants_.attention.size());
  for (const Capture& capture : captures_) output.captures.push_back(Source(capture));
  for (size_t i = 0; i < importance_.size(); ++i) {
    const ImportanceRequest& request = wants_.importance[i];
    const auto source = Source(importance_[i]);
    const int64_t row = SummaryRow(request.text);
    absl::StatusOr<AttentionMap> map = request.kind == Importance::kRolloutCls
                                           ? source->Rollout({row})
                                           : source->Read(info_.layer_count - 1, {}, row, row + 1);
    if (!map.ok()) return map.status();
    output.importance.push_back(std::move(map->weights));
  }
  return absl::OkStatus();
}

}  // namespace heed
