// A model ready to serve: what it is, how it reads text, how it computes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/api/model_info.h"
#include "model/api/runner.h"
#include "model/api/tokenizer.h"

namespace heed {

// What a group of tensors takes: "embeddings", "positional", "attention", "feed-forward", "norms",
// "convolution" or "head".
struct ModelPart {
  std::string name;
  int64_t parameter_count = 0;
  int64_t bytes = 0;  // as held in memory
};

struct LoadedModel {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const Runner> runner;
  // What a person should know of the load, e.g. tensors that were ignored. One sentence each.
  std::vector<std::string> notes;
  // In alphabetical order; they sum up to the model's parameter_count and weights_bytes.
  std::vector<ModelPart> parts;

  const ModelInfo& info() const { return runner->info(); }
};

}  // namespace heed
