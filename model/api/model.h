// A model ready to serve: what it is, how it reads text, how it computes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/api/model_info.h"
#include "model/api/runner.h"
#include "model/api/tokenizer.h"

namespace heed {

struct LoadedModel {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const Runner> runner;
  // What a person should know of the load, e.g. tensors that were ignored. One sentence each.
  std::vector<std::string> notes;

  const ModelInfo& info() const { return runner->info(); }
};

}  // namespace heed
