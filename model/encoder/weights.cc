#include "model/encoder/weights.h"

#include <ATen/ops/empty.h>

#include <cstring>
#include <stdexcept>

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

}  // namespace

std::optional<at::Tensor> Weights::Find(absl::string_view role) const {
  const auto found = map_.tensors.find(role);
  if (found == map_.tensors.end()) return std::nullopt;
  const TensorView& view = found->second;
  // The file's bytes may have any alignment: copied as bytes, then cast.
  at::Tensor tensor = at::empty(view.shape, at::TensorOptions(ScalarTypeOf(view.dtype)));
  if (!view.data.empty()) std::memcpy(tensor.data_ptr(), view.data.data(), view.data.size());
  return tensor.to(at::kFloat);
}

at::Tensor Weights::Get(absl::string_view role) const {
  std::optional<at::Tensor> tensor = Find(role);
  if (!tensor.has_value()) throw std::logic_error(absl::StrCat("no weight for the role ", role));
  return *std::move(tensor);
}

Linear Weights::GetLinear(const std::string& role) const {
  return {Get(role + ".weight"), Get(role + ".bias")};
}

LayerNorm Weights::GetLayerNorm(const std::string& role, double eps) const {
  return {Get(role + ".weight"), Get(role + ".bias"), eps};
}

int64_t ParameterCount(const WeightMap& map) {
  int64_t count = 0;
  for (const auto& [role, view] : map.tensors) count += view.element_count();
  return count;
}

int64_t WeightsBytes(const WeightMap& map) {
  return ParameterCount(map) * static_cast<int64_t>(sizeof(float));
}

}  // namespace heed
