// The contract between the server and a model: plain vectors in, plain vectors out. Nothing here
// knows how a model computes, so that the scheduler is tested with a fake.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/api/attention.h"
#include "model/api/batch.h"
#include "model/api/model_info.h"

namespace heed {

// What a caller wants besides logits and scores. Asking never changes the logits.
struct Wants {
  bool hidden_states = false;
  // Only the last of them: RunOutput::last_hidden_state.
  bool last_hidden_state = false;
  std::vector<AttentionRequest> attention;
  std::vector<CaptureRequest> captures;
  std::vector<ImportanceRequest> importance;
};

struct RunOutput {
  // [B, C] row-major, C = number of labels. Empty in models that label tokens, and in those without
  // a head.
  std::vector<float> logits;
  // [B, C]: logits through the head's activation (ModelInfo::score_function).
  std::vector<float> scores;
  // Models that label tokens (ModelInfo::task "token_classification"): [T, C], one row a token,
  // special tokens included; empty otherwise.
  std::vector<float> token_logits;
  // [T, C]: token_logits through the head's activation.
  std::vector<float> token_scores;
  // With Wants::hidden_states: layer_count + 1 of [T, D]; 0 is the embedding output, the last is
  // after the final norm where there is one.
  std::vector<std::vector<float>> hidden_states;
  // With Wants::last_hidden_state: [T, D], after the final norm where there is one.
  std::vector<float> last_hidden_state;
  // As many as Wants::attention, in its order.
  std::vector<AttentionMap> attention;
  // As many as Wants::captures, in its order.
  std::vector<std::shared_ptr<const AttentionSource>> captures;
  // As many as Wants::importance, in its order: one number a token of the text.
  std::vector<std::vector<float>> importance;
};

// A loaded model. Immutable; Run may be called from many threads at once.
class Runner {
 public:
  virtual ~Runner() = default;

  virtual const ModelInfo& info() const = 0;

  // Computes every text of `batch`. Errors: INVALID_ARGUMENT for an id, segment, position or length
  // the model cannot take, and for an attention request outside the model or the batch;
  // FAILED_PRECONDITION for one to a model without attention; RESOURCE_EXHAUSTED when memory runs
  // out, INTERNAL otherwise. Non-finite results are returned as they are: judging them per text is
  // the caller's part.
  virtual absl::StatusOr<RunOutput> Run(const RaggedBatch& batch, const Wants& wants) const = 0;

  // How alike the model's positional encoding makes each pair of the positions 0 …
  // position_count-1 in `layer`: PE·PEᵀ where positions are vectors, else the relative kernel.
  // `encoding`: which, where several act; empty: the first that has a similarity. Errors:
  // FAILED_PRECONDITION for a model without one, INVALID_ARGUMENT for a layer or an encoding it
  // does not have, or positions beyond its table.
  virtual absl::StatusOr<PositionSimilarity> SimilarityOfPositions(
      int64_t position_count, int64_t layer, const std::string& encoding) const {
    (void)position_count, (void)layer, (void)encoding;
    return NoPositionSimilarity();
  }
};

}  // namespace heed
