// JSON as this project reads it: a name that stands twice in an object is an error, because the two
// usual readings of it (first wins, last wins) would load two different models.
#pragma once

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace heed {

// The value of `text`. INVALID_ARGUMENT with the position and reason when it is not JSON, or with
// the name that stands twice.
absl::StatusOr<nlohmann::json> ParseJson(absl::string_view text);

// The value in the file at `path`; errors name it. NOT_FOUND when it cannot be read.
absl::StatusOr<nlohmann::json> ReadJsonFile(const std::string& path);

}  // namespace heed
