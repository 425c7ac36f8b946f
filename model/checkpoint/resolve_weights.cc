#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "model/api/error.h"
#include "model/checkpoint/architectures/architecture.h"
#include "model/checkpoint/checkpoint.h"

namespace heed {
namespace {

absl::Status TensorError(absl::string_view reason, absl::string_view name, absl::string_view what) {
  return MakeError(absl::StatusCode::kInvalidArgument, reason,
                   absl::StrCat("tensor \"", name, "\" ", what), {{"tensor", std::string(name)}});
}

bool IsFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 ||
         dtype == DType::kF64;
}

// The name under which the checkpoint has the tensor of `spec`; empty when it has none.
std::string FindName(const WeightSpec& spec, const Architecture& architecture,
                     const Checkpoint& checkpoint) {
  for (const std::string& name : spec.names) {
    for (const std::string& full : {absl::StrCat(architecture.prefix, name), name}) {
      if (checkpoint.Find(full) != nullptr) return full;
    }
  }
  return "";
}

bool Fits(const std::vector<int64_t>& shape, const std::vector<int64_t>& wanted) {
  if (shape.size() != wanted.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (wanted[i] >= 0 && shape[i] != wanted[i]) return false;
  }
  return true;
}

absl::Status Check(const WeightSpec& spec, const std::string& name, const TensorView& tensor) {
  if (!Fits(tensor.shape, spec.shape)) {
    return TensorError("BAD_TENSOR_SHAPE", name,
                       absl::StrCat("has shape ", ShapeString(tensor.shape),
                                    ", config.json asks for ", ShapeString(spec.shape)));
  }
  if (!IsFloat(tensor.dtype)) {
    return TensorError(
        "BAD_TENSOR_DTYPE", name,
        absl::StrCat("is ", DTypeName(tensor.dtype), "; weights are F32, F16, BF16 or F64"));
  }
  return absl::OkStatus();
}

// "encoder" of "encoder.layer.0.output.dense.weight".
absl::string_view Module(absl::string_view name) { return name.substr(0, name.find('.')); }

// "positional.…" or "layers.N.positional.…".
bool IsPositionRole(absl::string_view name) {
  return absl::StartsWith(name, "positional.") ||
         (absl::StartsWith(name, "layers.") && absl::StrContains(name, ".positional."));
}

// Whether a tensor with no use lies inside a module of which others are used.
bool WouldCompute(absl::string_view name, const Architecture& architecture,
                  const std::set<std::string, std::less<>>& modules) {
  name = absl::StripPrefix(name, architecture.prefix);
  for (const std::string& buffer : architecture.buffers) {
    if (buffer[0] == '*' ? absl::EndsWith(name, buffer.substr(1)) : name == buffer) return false;
  }
  return modules.contains(Module(name));
}

}  // namespace

absl::StatusOr<WeightMap> ResolveWeights(const ModelConfig& config, const Checkpoint& checkpoint) {
  const Architecture& architecture = *FindArchitecture(config.architecture);
  WeightMap weights;
  std::set<std::string> used;
  std::set<std::string, std::less<>> modules;
  for (const WeightSpec& spec : architecture.weights(config)) {
    const std::string name = FindName(spec, architecture, checkpoint);
    if (name.empty() && spec.optional) continue;
    if (name.empty()) {
      return TensorError("MISSING_TENSOR", absl::StrCat(architecture.prefix, spec.names[0]),
                         absl::StrCat("of shape ", ShapeString(spec.shape), " is missing"));
    }
    const TensorView& tensor = *checkpoint.Find(name);
    if (absl::Status status = Check(spec, name, tensor); !status.ok()) return status;
    weights.tensors.emplace(spec.role, WeightView{tensor, spec.form, spec.parts});
    used.insert(name);
    modules.emplace(Module(spec.names[0]));
  }
  for (const auto& [name, tensor] : checkpoint.tensors()) {
    if (used.contains(name)) continue;
    if (config.names_are_roles && IsPositionRole(name)) {
      if (absl::Status status = Check({name, {name}, tensor.shape}, name, tensor); !status.ok()) {
        return status;
      }
      weights.tensors.emplace(name, WeightView{tensor});
      continue;
    }
    if (WouldCompute(name, architecture, modules)) {
      return TensorError("UNEXPECTED_TENSOR", name,
                         absl::StrCat("is no part of a \"", config.architecture,
                                      "\" model as Heed computes it; without it the results "
                                      "would differ, so the model is not loaded"));
    }
    weights.ignored.push_back(name);
  }
  return weights;
}

}  // namespace heed
