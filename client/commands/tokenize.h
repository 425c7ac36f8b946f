// `heed tokenize`: how a model reads a text.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "client/client.h"
#include "client/commands/input.h"
#include "client/commands/io.h"

namespace heed::cli {

struct TokenizeCommand {
  InputOptions input;
  std::string model;
  bool truncate = false;
  bool json = false;
  Style style;
  absl::Duration timeout;
};

// Returns the exit code. Texts are sent in calls of bounded size, one after another.
int RunTokenize(const TokenizeCommand& command, const Client& client, Io& io);

}  // namespace heed::cli
