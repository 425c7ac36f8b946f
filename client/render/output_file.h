// Files that a command leaves behind: whole or not at all.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace heed::cli {

// Replaces the file at `path`. A regular file is written beside its place and moved there, so that
// nobody reads half of it and a failure leaves what was there; devices and pipes are written as
// they are. NOT_FOUND, PERMISSION_DENIED, … with the path and the system's reason.
absl::Status WriteFile(const std::string& path, absl::string_view content);

}  // namespace heed::cli
