// The checkpoint's tensors as tensors of LibTorch, handed out by role.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "model/checkpoint/checkpoint.h"
#include "model/encoder/linear.h"

namespace heed {

// Copies out of the mapped files, in float32, so that nothing computed later depends on the files.
class Weights {
 public:
  explicit Weights(const WeightMap& map) : map_(map) {}

  // The tensor of that role, or nothing.
  std::optional<at::Tensor> Find(absl::string_view role) const;

  // The same, for roles that ResolveWeights has found.
  at::Tensor Get(absl::string_view role) const;
  Linear GetLinear(const std::string& role) const;
  LayerNorm GetLayerNorm(const std::string& role, double eps) const;

 private:
  const WeightMap& map_;
};

// Elements of all tensors in the map, and their bytes as held in memory.
int64_t ParameterCount(const WeightMap& map);
int64_t WeightsBytes(const WeightMap& map);

}  // namespace heed
