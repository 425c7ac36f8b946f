// The encoder: embeddings and a stack of layers, run on ragged batches. There is one encoder for
// every architecture; what differs is in the ModelConfig and the weights' names.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/api/batch.h"
#include "model/api/runner.h"
#include "model/checkpoint/model_config.h"
#include "model/encoder/convolution.h"
#include "model/encoder/embeddings.h"
#include "model/encoder/layer.h"
#include "model/encoder/weights.h"

namespace heed {

// What a forward pass gives besides its result; a null member is not wanted.
struct ForwardRecord {
  // Gets layer_count + 1 tensors [T, D]: the embedding output, then the output of each layer, the
  // last after the final norm.
  std::vector<at::Tensor>* hidden_states = nullptr;
  AttentionRecorder* attention = nullptr;
};

// Immutable once made; Forward is safe to call from many threads at once.
class Encoder {
 public:
  // Builds the encoder that `config` describes from `weights`.
  static absl::StatusOr<Encoder> Create(const ModelConfig& config, const Weights& weights);

  // INVALID_ARGUMENT when `batch` is not well formed or holds an id, segment or position outside
  // the tables. Forward must not be called then.
  absl::Status Check(const RaggedBatch& batch) const;

  // Returns the last hidden state, [T, D].
  at::Tensor Forward(const RaggedBatch& batch, const ForwardRecord& record = {}) const;

  // See Runner::SimilarityOfPositions.
  absl::StatusOr<PositionSimilarity> SimilarityOfPositions(int64_t position_count, int64_t layer,
                                                           const std::string& encoding) const;

  // Positions must be below; 0: any can be encoded.
  int64_t position_limit() const { return position_limit_; }
  // Longest text in tokens; 0: no limit.
  int64_t max_tokens() const { return max_tokens_; }
  int64_t head_count() const { return config_.head_count; }
  int64_t layer_count() const { return config_.layer_count; }

  // The encodings that act in `layer`; those that add to embeddings act in every layer.
  const std::vector<std::shared_ptr<const PositionalEncoding>>& encodings(int64_t layer) const {
    return settings_[layer].encodings;
  }

 private:
  Encoder() = default;
  absl::Status AddEncodings(const Weights& weights);
  absl::Status AddLayers(const Weights& weights);
  // The batch with pad tokens where the model's position rule puts them.
  const RaggedBatch& Placed(const RaggedBatch& batch, RaggedBatch& storage) const;

  ModelConfig config_;
  int64_t position_limit_ = 0;  // positions must be below; 0: any
  int64_t max_tokens_ = 0;
  bool accepts_globals_ = false;
  std::vector<std::shared_ptr<const PositionalEncoding>> encodings_;
  std::vector<std::string> encoding_names_;  // one an entry of encodings_
  Embeddings embeddings_;
  std::vector<EncoderLayer> sources_;        // distinct sets of weights
  std::vector<AttentionSettings> settings_;  // one a layer
  std::optional<Convolution> convolution_;
  Norm final_norm_;
};

}  // namespace heed
