// What the variants share in reading their options and weights. Every error names the encoding, the
// option or tensor, and the value.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "model/positional/encoding.h"

namespace heed {

// A tensor for each layer that has one.
using LayerTensors = std::map<int64_t, at::Tensor>;

// The layer's tensor, undefined where it has none.
at::Tensor TensorOf(const LayerTensors& tensors, int64_t layer);

// Reads a spec's options, each with its default, and remembers the first error; the constructor of
// a variant reads everything and then asks Finish once.
class EncodingReader {
 public:
  EncodingReader(absl::string_view encoding, const EncodingSpec& spec)
      : encoding_(encoding), spec_(spec) {}

  // Whether the option is there. Counts as read.
  bool Has(absl::string_view option);
  // A finite number in [low, high].
  double Number(absl::string_view option, double fallback, double low, double high);
  int64_t Int(absl::string_view option, int64_t fallback, int64_t low, int64_t high);
  bool Bool(absl::string_view option, bool fallback);
  // One of `choices`; the first is the default.
  std::string Choice(absl::string_view option, std::initializer_list<absl::string_view> choices);

  // The tensor of that role and shape; -1 stands for any size. An undefined tensor and an error
  // when it is missing or of another shape.
  at::Tensor Weight(absl::string_view role, std::vector<int64_t> shape);
  // The same, without an error when it is missing.
  at::Tensor OptionalWeight(absl::string_view role, std::vector<int64_t> shape);

  // The tensor "layers.N.positional.NAME" of each layer N that the encoding acts in, or where a
  // layer has none of its own the model's "positional.NAME". An error when a layer has neither.
  LayerTensors LayerWeights(absl::string_view name, const std::vector<int64_t>& shape);
  // The same, without the layers that have neither.
  LayerTensors OptionalLayerWeights(absl::string_view name, const std::vector<int64_t>& shape);

  // Record an error, INVALID_ARGUMENT: BAD_ENCODING_OPTION, BAD_POSITION_TENSOR, and
  // BAD_ENCODING_SIZE for a size of the model that the encoding cannot work with.
  void Bad(absl::string_view option, absl::string_view why);
  void BadTensor(absl::string_view role, absl::string_view why);
  void BadSize(absl::string_view size, int64_t value, absl::string_view why);

  // The first error, or one for the first option that was not read, or OK.
  absl::Status Finish();

 private:
  void Fail(absl::Status status);

  const std::string encoding_;
  const EncodingSpec& spec_;
  std::set<std::string, std::less<>> read_;
  absl::Status status_;
};

// The layers an encoding of that spec acts in: spec.layers, or all.
std::vector<int64_t> LayersOf(const EncodingSpec& spec);
// Whether an encoding with that EncodingSpec::layers acts in `layer`.
bool ActsIn(const std::vector<int64_t>& layers, int64_t layer);

}  // namespace heed
