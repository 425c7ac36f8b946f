// The contract between the server and a model: plain vectors in, plain vectors out. Nothing here
// knows how a model computes, so that the scheduler is tested with a fake.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "model/api/batch.h"
#include "model/api/model_info.h"

namespace heed {

// Attention weights of one layer and text.
struct AttentionRequest {
  int64_t layer = 0;  // 0 … layer_count-1
  int64_t text = 0;   // index in the batch
  // Heads, in the order wanted; empty: all.
  std::vector<int64_t> heads;
  // Queries row_begin … row_end-1; row_end -1: the text's length.
  int64_t row_begin = 0;
  int64_t row_end = -1;
};

struct AttentionMap {
  int64_t head_count = 0;
  int64_t row_count = 0;
  int64_t key_count = 0;  // the text's length
  // [heads, rows, keys] after the softmax: row = query. Rows sum to 1; a row with every key hidden
  // is zeros.
  std::vector<float> weights;
};

// What a caller wants besides logits and scores. Asking never changes the logits.
struct Wants {
  bool hidden_states = false;
  std::vector<AttentionRequest> attention;
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
  // As many as Wants::attention, in its order.
  std::vector<AttentionMap> attention;
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
};

}  // namespace heed
