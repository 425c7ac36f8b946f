// The checkpoint's tensors as tensors of LibTorch, handed out by role.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/checkpoint/checkpoint.h"
#include "model/encoder/linear.h"

namespace heed {

// What a role belongs to, in the words of a report: "embeddings", "positional", "attention",
// "feed-forward", "norms", "convolution" or "head".
std::string PartOf(absl::string_view role);

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
  // Bytes of everything handed out so far, by PartOf the role, and in all.
  const std::map<std::string, int64_t>& bytes_by_part() const { return bytes_; }
  int64_t bytes() const;

 private:
  at::Tensor Counted(absl::string_view role, at::Tensor tensor) const;
  std::optional<at::Tensor> Load(absl::string_view role) const;

  const WeightMap& map_;
  const at::ScalarType linear_type_;
  mutable std::map<std::string, int64_t> bytes_;
  mutable std::set<std::string, std::less<>> read_;
};

// Elements of the tensors in the map, by PartOf the role. A tensor with several roles counts once,
// for the first of them.
std::map<std::string, int64_t> ParametersByPart(const WeightMap& map);

}  // namespace heed
