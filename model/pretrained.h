// A model folder opened as far as every use of it needs: configuration, weights, tokenizer and
// encoder (or TextCNN). The engine adds the head; the trainer makes one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "model/api/tokenizer.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/model_config.h"
#include "model/encoder/encoder.h"
#include "model/encoder/text_cnn.h"

namespace heed {

struct Pretrained {
  ModelConfig config;
  Checkpoint checkpoint;
  WeightMap weights;  // views into `checkpoint`
  // One of the two.
  std::optional<Encoder> encoder;
  std::optional<TextCnn> text_cnn;
  std::shared_ptr<const Tokenizer> tokenizer;
  bool accepts_pairs = false;
  // Bytes of the encoder's tensors as held in memory, by part (model/encoder/weights.h).
  std::map<std::string, int64_t> weights_bytes;
  // Tokens of one text: the smaller of what the encoder has positions for and the tokenizer's
  // model_max_length; 0: no limit.
  int64_t max_tokens = 0;
};

struct PretrainedOptions {
  ConfigPurpose purpose = ConfigPurpose::kClassifier;
  // Keep the matrices of linear layers, and compute their products, in bfloat16.
  bool bfloat16 = false;
};

// Opens the folder at `path`. Errors as for LoadModel (model/engine.h); LibTorch may throw.
absl::StatusOr<Pretrained> OpenPretrained(const std::string& path,
                                          const PretrainedOptions& open_options);

}  // namespace heed
