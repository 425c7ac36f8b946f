// The command line of `heed`: which commands and flags there are, and what each means.
#pragma once

#include "client/commands/io.h"

namespace heed::cli {

// Runs one command line and returns its exit code. Reads HEED_SERVER from the environment; all
// else comes from `argv` and `io`. Not thread-safe.
int RunCli(int argc, const char* const* argv, Io& io);

}  // namespace heed::cli
