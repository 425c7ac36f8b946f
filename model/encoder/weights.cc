#include "model/encoder/weights.h"

#include <ATen/ops/block_diag.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <cstring>
#include <set>
#include <stdexcept>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace heed {
namespace {

at::ScalarType ScalarTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return at::kFloat;
    case DType::kF16:
      return at::kHalf;
    case DType::kBF16:
      return at::kBFloat16;
    case DType::kF64:
      return at::kDouble;
    default:
      // ResolveWeights lets only these through.
      throw std::logic_error(absl::StrCat("no weight is ", std::string(DTypeName(dtype))));
  }
}

// The file's bytes may have any alignment: copied as bytes, then cast.
at::Tensor ReadTensor(const TensorView& view) {
  at::Tensor tensor = at::empty(view.shape, at::TensorOptions(ScalarTypeOf(view.dtype)));
  if (!view.data.empty()) std::memcpy(tensor.data_ptr(), view.data.data(), view.data.size());
  return tensor.to(at::kFloat);
}

at::Tensor BlockDiagonal(const at::Tensor& x, int64_t groups) {
  const std::vector<at::Tensor> blocks = x.flatten(1).chunk(groups, 0);
  return at::block_diag(blocks);
}

at::Tensor Shaped(const at::Tensor& x, const WeightView& weight) {
  switch (weight.form) {
    case WeightForm::kPlain:
      break;
    case WeightForm::kTransposed:
      return x.flatten(1).t().contiguous();
    case WeightForm::kFlattened:
      return x.flatten(1);
    case WeightForm::kQkvPerHead: {
      const int64_t size = x.size(0) / (3 * weight.parts);
      return x.view({weight.parts, 3, size, x.size(1)}).transpose(0, 1).reshape(x.sizes());
    }
    case WeightForm::kGrouped:
      return BlockDiagonal(x, weight.parts);
  }
  return x;
}

}  // namespace

std::string PartOf(absl::string_view role) {
  if (absl::StrContains(role, "positional.")) return "positional";
  for (const char* const part : {"embeddings", "convolution", "head"}) {
    if (absl::StartsWith(role, part)) return part;
  }
  if (absl::StrContains(role, "norm.")) return "norms";
  if (absl::StrContains(role, "attention.")) return "attention";
  return absl::StartsWith(role, "layers.") ? "feed-forward" : "head";
}

std::optional<at::Tensor> Weights::Load(absl::string_view role) const {
  const auto found = map_.tensors.find(role);
  if (found == map_.tensors.end()) return std::nullopt;
  read_.emplace(role);
  return Shaped(ReadTensor(found->second.view), found->second);
}

at::Tensor Weights::Counted(absl::string_view role, at::Tensor tensor) const {
  bytes_[PartOf(role)] += static_cast<int64_t>(tensor.nbytes());
  return tensor;
}

int64_t Weights::bytes() const {
  int64_t sum = 0;
  for (const auto& [part, bytes] : bytes_) sum += bytes;
  return sum;
}

std::optional<at::Tensor> Weights::Find(absl::string_view role) const {
  std::optional<at::Tensor> tensor = Load(role);
  if (tensor.has_value()) Counted(role, *tensor);
  return tensor;
}

at::Tensor Weights::Get(absl::string_view role) const {
  std::optional<at::Tensor> tensor = Find(role);
  if (!tensor.has_value()) throw std::logic_error(absl::StrCat("no weight for the role ", role));
  return *std::move(tensor);
}

Linear Weights::GetLinear(const std::string& role) const { return GetJoinedLinear({role}); }

Linear Weights::GetJoinedLinear(const std::vector<std::string>& roles) const {
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> biases;
  bool any_bias = false;
  for (const std::string& role : roles) {
    const auto weight = Load(role + ".weight");
    if (!weight.has_value()) throw std::logic_error(absl::StrCat("no weight for ", role));
    weights.push_back(*weight);
    const auto bias = Load(role + ".bias");
    any_bias = any_bias || bias.has_value();
    biases.push_back(bias.value_or(at::zeros({weights.back().size(0)})));
  }
  Linear linear;
  linear.weight =
      Counted(roles[0], (weights.size() == 1 ? weights[0] : at::cat(weights)).to(linear_type_));
  if (any_bias) linear.bias = Counted(roles[0], biases.size() == 1 ? biases[0] : at::cat(biases));
  return linear;
}

Norm Weights::GetNorm(const std::string& role, NormKind kind, double eps) const {
  Norm norm;
  norm.kind = kind;
  norm.eps = eps;
  norm.weight = Find(role + ".weight").value_or(at::Tensor());
  norm.bias = Find(role + ".bias").value_or(at::Tensor());
  return norm;
}

std::map<std::string, int64_t> ParametersByPart(const WeightMap& map) {
  std::map<std::string, int64_t> count;
  std::set<const void*> seen;
  for (const auto& [role, weight] : map.tensors) {
    if (!seen.insert(weight.view.data.data()).second) continue;
    count[PartOf(role)] += weight.view.element_count();
  }
  return count;
}

}  // namespace heed
