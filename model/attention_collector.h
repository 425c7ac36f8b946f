// From what a caller wants of attention to what the recorder collects, and back.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "model/api/model_info.h"
#include "model/api/runner.h"
#include "model/attention/recorder.h"

namespace heed {

// Whether wants.attention, captures and importance are within the model and the batch:
// INVALID_ARGUMENT OUT_OF_RANGE otherwise.
absl::Status CheckWants(const Wants& wants, const RaggedBatch& batch, const ModelInfo& info);

// For one run. Wants, batch and info outlive it.
class AttentionCollector {
 public:
  // CheckWants was OK.
  AttentionCollector(const Wants& wants, const RaggedBatch& batch, const ModelInfo& info);

  // What the forward pass records into; nullptr: nothing is wanted.
  AttentionRecorder* recorder() { return empty_ ? nullptr : recorder_.get(); }

  // Fills output.attention, captures and importance after the pass. Call once.
  absl::Status Finish(RunOutput& output);

 private:
  struct Capture {
    CaptureRequest request;
    std::vector<size_t> places;  // in the recorder: requests if eager, handles otherwise
  };

  Capture Plan(CaptureRequest request);
  std::shared_ptr<const AttentionSource> Source(const Capture& capture);
  // Of a text: 0, or its last token.
  int64_t SummaryRow(int64_t text) const;

  const Wants& wants_;
  const RaggedBatch& batch_;
  const ModelInfo& info_;
  bool empty_ = false;
  std::vector<AttentionRequest> requests_;
  std::vector<AttentionRequest> kept_;
  std::vector<Capture> captures_;
  std::vector<Capture> importance_;
  std::unique_ptr<AttentionRecorder> recorder_;
};

}  // namespace heed
