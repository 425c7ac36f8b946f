// What a shell gets to know of a failure: the exit code, and lines on standard error.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/commands/io.h"

namespace heed::cli {

enum ExitCode {
  kSuccess = 0,
  kRefused = 1,      // the server, or a check before it, said no; health: not serving
  kUsage = 2,        // wrong flags, or a file that cannot be opened
  kUnreachable = 3,  // no server there, or no answer in time
};

// The exit code for a call that ended with `status`.
ExitCode ExitCodeFor(const absl::Status& status);

// What the user reads about a call to `server` that failed: "CODE: message", then indented lines.
// Failures to connect name the server and what to try, not gRPC's internals. Control characters
// are escaped.
std::string DescribeError(const absl::Status& status, absl::string_view server,
                          absl::Duration timeout);

// Prints "heed: " and `text` to standard error, after what standard output still holds.
void PrintError(absl::string_view text, Io& io);

// Flushes standard output. `code`, or kRefused with a message if what was written could not be
// (a full disk).
int Finish(int code, Io& io);

}  // namespace heed::cli
