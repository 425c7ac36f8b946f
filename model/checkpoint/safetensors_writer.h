// Writes safetensors files, for the trainer and for tests.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "model/checkpoint/safetensors.h"

namespace heed {

// Writes `tensors` (and `metadata`) to `path`, replacing it in one step: a reader sees the old file
// or the new one. Data starts at a multiple of 8 bytes.
absl::Status WriteSafetensors(const std::string& path,
                              const std::map<std::string, TensorView>& tensors,
                              const std::map<std::string, std::string>& metadata = {});

}  // namespace heed
