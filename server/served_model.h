// The models a server answers with, each with its queue, found by the name a request gives.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/api/model.h"
#include "server/scheduler.h"

namespace heed {

struct ServedModel {
  std::string name;
  LoadedModel model;
  std::unique_ptr<Scheduler> scheduler;
};

// Filled before serving begins; from then on const and safe to read from many threads.
class ModelRegistry {
 public:
  // The first model added is the default.
  void Add(std::unique_ptr<ServedModel> model) { models_.push_back(std::move(model)); }

  // The model called `name`, or the default for "". Errors, with field "model.name" or
  // "model.version": NOT_FOUND MODEL_NOT_FOUND, or MODEL_VERSION_NOT_FOUND when `version` is
  // neither empty nor the version that serves.
  absl::StatusOr<const ServedModel*> Find(absl::string_view name, absl::string_view version) const;

  const std::vector<std::unique_ptr<ServedModel>>& models() const { return models_; }
  bool IsDefault(const ServedModel& model) const { return models_.front().get() == &model; }

  // Of every model's scheduler.
  void StopWaiting();
  void Drain();

 private:
  std::vector<std::unique_ptr<ServedModel>> models_;
};

// Runs the model once on a short text and once on the longest it takes, so that what is done
// lazily at a first use is done before the first request.
absl::Status WarmUp(const LoadedModel& model);

}  // namespace heed
