// `heed health`: whether a server serves, for people, scripts and container probes.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "client/client.h"
#include "client/commands/io.h"

namespace heed::cli {

struct HealthCommand {
  std::string service;  // empty: the server as a whole
  // Ask again until it serves, at most this long; zero: once.
  absl::Duration wait;
  bool json = false;
  Style style;
  absl::Duration timeout;
};

// Returns the exit code: 0 only when the status is SERVING.
int RunHealth(const HealthCommand& command, const Client& client, Io& io);

}  // namespace heed::cli
