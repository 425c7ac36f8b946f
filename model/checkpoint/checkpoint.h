// A model folder's weight files as one set of named tensors, whether it is one file or many shards.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/checkpoint/model_config.h"
#include "model/checkpoint/safetensors.h"

namespace heed {

// Immutable; safe from many threads. Views live as long as the object.
class Checkpoint {
 public:
  // Opens model.safetensors, or the shards of model.safetensors.index.json, and `head_file` where
  // it is not empty. Errors: NOT_FOUND without weights (with what to do when there are only pickle
  // files); INVALID_ARGUMENT for a broken file, a name in two files, a shard outside the folder, or
  // an index that disagrees with its shards.
  static absl::StatusOr<Checkpoint> Open(const std::string& folder,
                                         const std::string& head_file = "");

  // nullptr: no such tensor.
  const TensorView* Find(absl::string_view name) const;
  const std::map<std::string, TensorView, std::less<>>& tensors() const { return tensors_; }

  // Hash (XXH3, 64 bits, 16 hexadecimal digits) of all that decides the numbers: config.json,
  // tokenizer.json, tokenizer_config.json and every weight file.
  std::string Version() const;

 private:
  absl::Status Add(const std::string& file_name);
  absl::Status AddShards();

  std::string folder_;
  std::vector<std::shared_ptr<const SafetensorsFile>> files_;
  std::map<std::string, TensorView, std::less<>> tensors_;
};

// How a tensor of the file becomes the matrix that the model computes with.
enum class WeightForm {
  kPlain,
  // [in, H, Dh] to [H·Dh, in]: XLNet's x @ W.
  kTransposed,
  // [out, H, Dh] to [out, H·Dh].
  kFlattened,
  // Rows [head][q, k, v][Dh] to [q | k | v] of all heads (DeBERTa's in_proj).
  kQkvPerHead,
  // A grouped convolution of width 1, [out, in/groups, 1], to the block-diagonal [out, in].
  kGrouped,
};

// A tensor as the file has it and what to make of it.
struct WeightView {
  TensorView view;
  WeightForm form = WeightForm::kPlain;
  int64_t parts = 1;  // heads (kQkvPerHead) or groups (kGrouped)
};

// The tensors a model computes with, by role (see architectures/architecture.h).
struct WeightMap {
  std::map<std::string, WeightView, std::less<>> tensors;
  // Tensors of the checkpoint that the model has no use for.
  std::vector<std::string> ignored;
};

// Finds every tensor that `config` asks for. Errors, INVALID_ARGUMENT: MISSING_TENSOR,
// BAD_TENSOR_SHAPE, BAD_TENSOR_DTYPE, and UNEXPECTED_TENSOR for one inside a module that computes
// (an adapter, a distance table): leaving it out would change the numbers.
absl::StatusOr<WeightMap> ResolveWeights(const ModelConfig& config, const Checkpoint& checkpoint);

}  // namespace heed
