// Loads a Hugging Face folder as a model that runs on LibTorch. This is the only door into
// LibTorch: its exceptions stop here and become absl::Status.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "model/api/model.h"

namespace heed {

struct LoadOptions {
  // "cpu".
  std::string device = "cpu";
  // "auto", "fp32" or "bf16": the precision of the encoder's matrix products. auto is fp32.
  std::string precision = "auto";
  // Leave any classifier aside: RunOutput has no logits.
  bool headless = false;
};

// Threads of one forward pass. Call once, before the first model is loaded.
void SetComputeThreads(int thread_count);

// The LibTorch version Heed runs with, e.g. "2.15.0".
std::string LibTorchVersion();

// Loads the folder at `path`: config.json, model.safetensors (or shards with their index) and
// tokenizer.json. Errors name the file and the field or tensor: NOT_FOUND for a missing file,
// INVALID_ARGUMENT for one that is malformed, UNIMPLEMENTED for a model Heed cannot compute
// exactly.
absl::StatusOr<LoadedModel> LoadModel(const std::string& path, const LoadOptions& options = {});

}  // namespace heed
