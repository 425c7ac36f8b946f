// `heed models`: what a server can classify with.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "client/client.h"
#include "client/commands/io.h"

namespace heed::cli {

struct ModelsCommand {
  std::string name;  // empty: all
  bool json = false;
  Style style;
  absl::Duration timeout;
};

// Returns the exit code.
int RunModels(const ModelsCommand& command, const Client& client, Io& io);

}  // namespace heed::cli
