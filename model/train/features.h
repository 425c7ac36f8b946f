// Sentence vectors of a frozen encoder: what a head is trained on.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/pretrained.h"

namespace heed {

// Mean of the last hidden state over each text's tokens. Texts beyond the model's limit are
// truncated. `progress` is told how many texts are done. Returns [N, D] float32.
absl::StatusOr<at::Tensor> SentenceVectors(const Pretrained& encoder,
                                           const std::vector<std::string>& texts,
                                           const std::function<void(size_t done)>& progress);

}  // namespace heed
