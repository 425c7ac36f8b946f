// The flags of `heed attend`.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "client/commands/attend.h"

namespace CLI {
class App;
}  // namespace CLI

namespace heed::cli {

// Where they land.
struct AttendFlags {
  std::string text;
  std::string pair;
  std::string model;
  bool truncate = false;
  std::string layers;
  std::string heads;
  std::string rows;
  std::string columns;
  std::string reduction;
  uint32_t top_k = 0;
  std::string dtype;
  std::string positions;
  bool json = false;
  std::string npz;
  std::string safetensors;
  std::string png;
  std::string html;
};

// Adds the command to `app`; `flags` must outlive the parse.
CLI::App* AddAttend(CLI::App* app, AttendFlags* flags);

// What was parsed, without style and timeout. INVALID_ARGUMENT with a message for the user.
absl::StatusOr<AttendCommand> MakeAttend(const CLI::App& attend, AttendFlags flags);

}  // namespace heed::cli
