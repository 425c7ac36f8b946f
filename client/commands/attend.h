// `heed attend`: where a model looks when it reads a text.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "client/client.h"
#include "client/commands/io.h"
#include "heed/v1/attention.pb.h"

namespace heed::cli {

struct AttendCommand {
  v1::GetAttentionRequest request;
  // The user named a reduction or a number type; otherwise they follow from what is shown.
  bool has_reduction = false;
  bool has_type = false;
  // Where the answer goes; a picture on the terminal if nowhere else.
  bool json = false;
  std::string npz;
  std::string safetensors;
  std::string png;
  std::string html;
  Style style;
  absl::Duration timeout;  // for messages
};

// Returns the exit code.
int RunAttend(const AttendCommand& command, const Client& client, Io& io);

}  // namespace heed::cli
