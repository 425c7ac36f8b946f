#include "model/positional/options.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/api/error.h"

namespace heed {
namespace {

std::string Shape(at::IntArrayRef shape) {
  return absl::StrCat("[",
                      absl::StrJoin(shape, ", ",
                                    [](std::string* out, int64_t size) {
                                      absl::StrAppend(out, size < 0 ? "*" : absl::StrCat(size));
                                    }),
                      "]");
}

bool Fits(const at::Tensor& tensor, const std::vector<int64_t>& shape) {
  if (tensor.dim() != static_cast<int64_t>(shape.size())) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 0 && tensor.size(static_cast<int64_t>(i)) != shape[i]) return false;
  }
  return true;
}

std::string LayerRole(int64_t layer, absl::string_view name) {
  return absl::StrCat("layers.", layer, ".positional.", name);
}

}  // namespace

at::Tensor TensorOf(const LayerTensors& tensors, int64_t layer) {
  const auto found = tensors.find(layer);
  return found == tensors.end() ? at::Tensor() : found->second;
}

bool EncodingReader::Has(absl::string_view option) {
  read_.emplace(option);
  return spec_.options.contains(std::string(option));
}

double EncodingReader::Number(absl::string_view option, double fallback, double low, double high) {
  if (!Has(option)) return fallback;
  double value = 0;
  if (!absl::SimpleAtod(spec_.options.at(std::string(option)), &value) || !(value >= low) ||
      !(value <= high)) {
    Bad(option, absl::StrCat("is not a number in [", low, ", ", high, "]"));
    return fallback;
  }
  return value;
}

int64_t EncodingReader::Int(absl::string_view option, int64_t fallback, int64_t low, int64_t high) {
  if (!Has(option)) return fallback;
  int64_t value = 0;
  if (!absl::SimpleAtoi(spec_.options.at(std::string(option)), &value) || value < low ||
      value > high) {
    Bad(option, absl::StrCat("is not an integer in [", low, ", ", high, "]"));
    return fallback;
  }
  return value;
}

bool EncodingReader::Bool(absl::string_view option, bool fallback) {
  if (!Has(option)) return fallback;
  const std::string& value = spec_.options.at(std::string(option));
  if (value != "true" && value != "false") Bad(option, "is neither true nor false");
  return value == "true";
}

std::string EncodingReader::Choice(absl::string_view option,
                                   std::initializer_list<absl::string_view> choices) {
  const std::string fallback(*choices.begin());
  if (!Has(option)) return fallback;
  const std::string& value = spec_.options.at(std::string(option));
  if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
    Bad(option, absl::StrCat("is not one of ", absl::StrJoin(choices, ", ")));
    return fallback;
  }
  return value;
}

at::Tensor EncodingReader::Weight(absl::string_view role, std::vector<int64_t> shape) {
  at::Tensor tensor = OptionalWeight(role, shape);
  if (!tensor.defined() && status_.ok()) {
    Fail(MakeError(absl::StatusCode::kInvalidArgument, "MISSING_POSITION_TENSOR",
                   absl::StrCat("positional encoding \"", encoding_, "\" needs the tensor \"", role,
                                "\" of shape ", Shape(shape)),
                   {{"positionalEncoding", encoding_}, {"tensor", std::string(role)}}));
  }
  return tensor;
}

at::Tensor EncodingReader::OptionalWeight(absl::string_view role, std::vector<int64_t> shape) {
  if (!spec_.weight) return {};
  const std::optional<at::Tensor> tensor = spec_.weight(role);
  if (!tensor.has_value()) return {};
  if (!Fits(*tensor, shape)) {
    BadTensor(role, absl::StrCat("has shape ", Shape(tensor->sizes()), " where ", Shape(shape),
                                 " is needed"));
    return {};
  }
  return *tensor;
}

LayerTensors EncodingReader::OptionalLayerWeights(absl::string_view name,
                                                  const std::vector<int64_t>& shape) {
  LayerTensors tensors;
  for (const int64_t layer : LayersOf(spec_)) {
    at::Tensor tensor = OptionalWeight(LayerRole(layer, name), shape);
    if (!tensor.defined()) tensor = OptionalWeight(absl::StrCat("positional.", name), shape);
    if (tensor.defined()) tensors[layer] = std::move(tensor);
  }
  return tensors;
}

LayerTensors EncodingReader::LayerWeights(absl::string_view name,
                                          const std::vector<int64_t>& shape) {
  LayerTensors tensors = OptionalLayerWeights(name, shape);
  for (const int64_t layer : LayersOf(spec_)) {
    if (!tensors.contains(layer)) Weight(LayerRole(layer, name), shape);
  }
  return tensors;
}

void EncodingReader::BadTensor(absl::string_view role, absl::string_view why) {
  Fail(MakeError(
      absl::StatusCode::kInvalidArgument, "BAD_POSITION_TENSOR",
      absl::StrCat("positional encoding \"", encoding_, "\": the tensor \"", role, "\" ", why),
      {{"positionalEncoding", encoding_}, {"tensor", std::string(role)}}));
}

void EncodingReader::BadSize(absl::string_view size, int64_t value, absl::string_view why) {
  Fail(MakeError(
      absl::StatusCode::kInvalidArgument, "BAD_ENCODING_SIZE",
      absl::StrCat("positional encoding \"", encoding_, "\": ", size, " (", value, ") ", why),
      {{"positionalEncoding", encoding_}, {"size", std::string(size)}}));
}

void EncodingReader::Bad(absl::string_view option, absl::string_view why) {
  const auto found = spec_.options.find(std::string(option));
  const std::string value = found == spec_.options.end() ? "absent" : found->second;
  Fail(MakeError(absl::StatusCode::kInvalidArgument, "BAD_ENCODING_OPTION",
                 absl::StrCat("positional encoding \"", encoding_, "\": option \"", option, "\" (",
                              value, ") ", why),
                 {{"positionalEncoding", encoding_}, {"option", std::string(option)}}));
}

absl::Status EncodingReader::Finish() {
  for (const auto& [name, value] : spec_.options) {
    if (!read_.contains(name)) {
      Fail(MakeError(
          absl::StatusCode::kInvalidArgument, "UNKNOWN_ENCODING_OPTION",
          absl::StrCat("positional encoding \"", encoding_, "\" has no option \"", name, "\""),
          {{"positionalEncoding", encoding_}, {"option", name}}));
    }
  }
  return status_;
}

void EncodingReader::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}

std::vector<int64_t> LayersOf(const EncodingSpec& spec) {
  if (!spec.layers.empty()) return spec.layers;
  std::vector<int64_t> layers;
  for (int64_t i = 0; i < spec.layer_count; ++i) layers.push_back(i);
  return layers;
}

bool ActsIn(const std::vector<int64_t>& layers, int64_t layer) {
  return layers.empty() || std::find(layers.begin(), layers.end(), layer) != layers.end();
}

}  // namespace heed
