// The files of `heed attend`.
#pragma once

#include "absl/status/status.h"
#include "client/attention_data.h"
#include "client/client.h"
#include "client/commands/attend.h"
#include "client/commands/io.h"

namespace heed::cli {

// Writes each file that `command` names. The page asks the server for rollout, entropy and
// importance too; where it refuses, the page goes without, and standard error says so.
absl::Status WriteAttendFiles(const AttendCommand& command, const AttentionData& data,
                              const Client& client, Io& io);

}  // namespace heed::cli
