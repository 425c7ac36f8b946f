// The contract between the server and a model: plain vectors in, plain vectors out. Nothing here
// knows how a model computes, so that the scheduler is tested with a fake.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "model/api/batch.h"
#include "model/api/model_info.h"

namespace heed {

// What a caller wants besides logits and scores. Asking never changes the logits.
struct Wants {
  bool hidden_states = false;
};

struct RunOutput {
  // [B, C] row-major, C = number of labels.
  std::vector<float> logits;
  // [B, C]: logits through the head's activation (ModelInfo::score_function).
  std::vector<float> scores;
  // With Wants::hidden_states: layer_count + 1 of [T, D]; 0 is the embedding output.
  std::vector<std::vector<float>> hidden_states;
};

// A loaded model. Immutable; Run may be called from many threads at once.
class Runner {
 public:
  virtual ~Runner() = default;

  virtual const ModelInfo& info() const = 0;

  // Computes every text of `batch`. Errors: INVALID_ARGUMENT for an id, segment, position or length
  // the model cannot take, RESOURCE_EXHAUSTED when memory runs out, INTERNAL otherwise. Non-finite
  // results are returned as they are: judging them per text is the caller's part.
  virtual absl::StatusOr<RunOutput> Run(const RaggedBatch& batch, const Wants& wants) const = 0;
};

}  // namespace heed
