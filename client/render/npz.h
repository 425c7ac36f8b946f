// Attention as an .npz file: what numpy.load() reads, without pickle.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "client/attention_data.h"

namespace heed::cli {

// Writes AttentionArrays() and the texts "tokens" (the pieces), "model", "model_version" and
// "reduction". A file that is there is replaced once the new one is complete. Errors name the path.
absl::Status WriteNpz(const std::string& path, const AttentionData& data);

}  // namespace heed::cli
