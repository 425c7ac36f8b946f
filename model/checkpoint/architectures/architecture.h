// What an architecture is to the loader: how its config.json reads and what its tensors are called.
// One file an architecture, one line in architectures.inc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/config_fields.h"
#include "model/checkpoint/model_config.h"

namespace heed {

// A tensor the model computes with.
struct WeightSpec {
  // What it is, the same for every architecture, e.g. "layers.0.attention.query.weight".
  std::string role;
  // Its name in the checkpoint, without the optional prefix; where a name changed, the newest
  // first.
  std::vector<std::string> names;
  std::vector<int64_t> shape;  // in the file; -1: any size
  WeightForm form = WeightForm::kPlain;
  int64_t parts = 1;
  bool optional = false;
};

struct Architecture {
  // Reads the architecture's own fields; problems are kept in `fields`.
  void (*read_config)(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config);
  // Every tensor of that configuration; the head's too unless its pooling is kNone.
  std::vector<WeightSpec> (*weights)(const ModelConfig& config);
  // Tensor names may start with this (the base model inside a classifier) or go without it.
  const char* prefix;
  // After the prefix: buffers and aliases that hold no parameters of their own. One that begins
  // with '*' stands for every name that ends with the rest.
  std::vector<std::string> buffers;
};

// The architecture of that model_type; nullptr when there is none.
const Architecture* FindArchitecture(const std::string& model_type);

// Every known model_type, in alphabetical order.
std::vector<std::string> ArchitectureNames();

}  // namespace heed
