#include "model/encoder/linear.h"

#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/tanh.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/api/error.h"

namespace heed {

at::Tensor Linear::operator()(const at::Tensor& x) const {
  if (weight.scalar_type() == x.scalar_type()) return at::linear(x, weight, bias);
  at::Tensor y = at::linear(x.to(weight.scalar_type()), weight).to(x.scalar_type());
  return bias.defined() ? y.add_(bias) : y;
}

at::Tensor Norm::operator()(const at::Tensor& x) const {
  if (!weight.defined()) return x;
  if (kind == NormKind::kLayerNorm) return at::layer_norm(x, {x.size(-1)}, weight, bias, eps);
  const at::Tensor mean_square = x.square().mean(-1, true);
  return (x * mean_square.add_(eps).rsqrt_()).mul_(weight);
}

absl::StatusOr<Activation> FindActivation(absl::string_view name) {
  static const auto* const activations = new std::map<std::string, Activation>{
      {"", [](at::Tensor x) { return x; }},
      {"linear", [](at::Tensor x) { return x; }},
      {"gelu", [](at::Tensor x) { return at::gelu_(x); }},
      {"gelu_new", [](at::Tensor x) { return at::gelu_(x, "tanh"); }},
      {"gelu_fast", [](at::Tensor x) { return at::gelu_(x, "tanh"); }},
      {"gelu_pytorch_tanh", [](at::Tensor x) { return at::gelu_(x, "tanh"); }},
      {"relu", [](at::Tensor x) { return at::relu_(x); }},
      {"silu", [](at::Tensor x) { return at::silu_(x); }},
      {"swish", [](at::Tensor x) { return at::silu_(x); }},
      {"tanh", [](at::Tensor x) { return at::tanh_(x); }},
  };
  const auto found = activations->find(std::string(name));
  if (found == activations->end()) {
    return MakeError(absl::StatusCode::kUnimplemented, "UNSUPPORTED_CONFIG",
                     absl::StrCat("hidden_act \"", name, "\" is not supported"),
                     {{"field", "hidden_act"}, {"value", std::string(name)}});
  }
  return found->second;
}

}  // namespace heed
