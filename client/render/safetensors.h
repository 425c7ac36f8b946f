// Attention as a .safetensors file, for readers that know neither zip nor numpy.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "client/attention_data.h"

namespace heed::cli {

// Writes AttentionArrays() as tensors, and in the metadata "model", "model_version", "reduction"
// and "tokens" (a JSON list of the pieces). Errors name the path; an incomplete file is removed.
absl::Status WriteSafetensors(const std::string& path, const AttentionData& data);

}  // namespace heed::cli
