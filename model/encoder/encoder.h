// The encoder: embeddings and a stack of layers, run on ragged batches.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/api/batch.h"
#include "model/checkpoint/model_config.h"
#include "model/encoder/embeddings.h"
#include "model/encoder/layer.h"
#include "model/encoder/weights.h"

namespace heed {

// Immutable once made; Forward is safe to call from many threads at once.
class Encoder {
 public:
  // Builds the encoder that `config` describes from `weights`.
  static absl::StatusOr<Encoder> Create(const ModelConfig& config, const Weights& weights);

  // INVALID_ARGUMENT when `batch` is not well formed or holds an id, segment or position outside
  // the tables. Forward must not be called on such a batch.
  absl::Status Check(const RaggedBatch& batch) const;

  // Returns the last hidden state, [T, D]. With `hidden_states`, appends layer_count + 1 tensors
  // [T, D]: the embedding output, then the output of each layer.
  at::Tensor Forward(const RaggedBatch& batch, std::vector<at::Tensor>* hidden_states) const;

  // Longest text in tokens; 0: no limit.
  int64_t max_tokens() const { return embeddings_.positional->position_limit(); }

 private:
  Encoder() = default;

  Embeddings embeddings_;
  std::vector<EncoderLayer> layers_;
};

}  // namespace heed
