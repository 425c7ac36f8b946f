// The checkpoint's tensors as tensors of LibTorch, handed out by role.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/checkpoint/checkpoint.h"
#include "model/encoder/linear.h"

namespace heed {

// Copies out of the mapped files, so that nothing computed later depends on the files. For one
// thread.
class Weights {
 public:
  // linear_type: in which precision the matrices of linear layers are kept, float32 or bfloat16;
  // everything else is float32.
  explicit Weights(const WeightMap& map, at::ScalarType linear_type = at::kFloat)
      : map_(map), linear_type_(linear_type) {}

  bool Has(absl::string_view role) const { return map_.tensors.contains(role); }

  // The tensor of that role in float32, or nothing.
  std::optional<at::Tensor> Find(absl::string_view role) const;

  // The same, for roles that ResolveWeights has found.
  at::Tensor Get(absl::string_view role) const;
  // Role ".weight" and, where there is one, ".bias".
  Linear GetLinear(const std::string& role) const;
  // The same; no norm where there is no ".weight".
  Norm GetNorm(const std::string& role, NormKind kind, double eps) const;
  // The rows of several linear layers as one. All have a bias or none has.
  Linear GetJoinedLinear(const std::vector<std::string>& roles) const;

  bool WasRead(absl::string_view role) const { return read_.contains(role); }
  // Bytes of everything handed out so far.
  int64_t bytes() const { return bytes_; }

 private:
  at::Tensor Counted(at::Tensor tensor) const;
  std::optional<at::Tensor> Load(absl::string_view role) const;

  const WeightMap& map_;
  const at::ScalarType linear_type_;
  mutable int64_t bytes_ = 0;
  mutable std::set<std::string, std::less<>> read_;
};

// Elements of all tensors in the map, each tensor counted once.
int64_t ParameterCount(const WeightMap& map);

}  // namespace heed
