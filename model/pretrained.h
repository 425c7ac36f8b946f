// A model folder opened as far as every use of it needs: configuration, weights, tokenizer and
// encoder. The engine adds the head; the trainer makes one.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "model/api/tokenizer.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/model_config.h"
#include "model/encoder/encoder.h"

namespace heed {

struct Pretrained {
  ModelConfig config;
  Checkpoint checkpoint;
  WeightMap weights;  // views into `checkpoint`
  Encoder encoder;
  std::shared_ptr<const Tokenizer> tokenizer;
  // Tokens of one text: the smaller of what the encoder has positions for and the tokenizer's
  // model_max_length; 0: no limit.
  int64_t max_tokens = 0;
};

// Opens the folder at `path`. Errors as for LoadModel (model/engine.h); LibTorch may throw.
absl::StatusOr<Pretrained> OpenPretrained(const std::string& path, ConfigPurpose purpose);

}  // namespace heed
