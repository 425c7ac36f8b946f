#include "client/commands/exit_code.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/render/text.h"
#include "client/rpc_error.h"

namespace heed::cli {
namespace {

// The cause in gRPC's message: "…; last error: UNKNOWN: ipv4:…: Failed to connect to remote host:
// Connection refused" is "Connection refused".
std::string CauseOf(absl::string_view message) {
  for (const absl::string_view before : {"last error: ", "Failed to connect to remote host: "}) {
    const size_t at = message.rfind(before);
    if (at != absl::string_view::npos) message = message.substr(at + before.size());
  }
  if (absl::StrContains(message, "DNS resolution failed")) {
    return "the name cannot be resolved";
  }
  return std::string(message);
}

std::string EscapeLines(absl::string_view text) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) lines.push_back(Escape(line));
  std::string result = lines[0];
  for (size_t i = 1; i < lines.size(); ++i) absl::StrAppend(&result, "\n", lines[i]);
  return result;
}

}  // namespace

ExitCode ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kSuccess;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return kUnreachable;
    default:
      return kRefused;
  }
}

std::string DescribeError(const absl::Status& status, absl::string_view server,
                          absl::Duration timeout) {
  // A Heed server gives a reason with every error; without one it was gRPC that failed.
  const bool from_server = !GetRpcErrorDetails(status).reason.empty();
  std::string text;
  if (from_server) {
    text = FormatError(status);
  } else if (status.code() == absl::StatusCode::kUnavailable) {
    text = absl::StrCat("UNAVAILABLE: cannot reach ", server, ": ", CauseOf(status.message()),
                        "\n  is heed-server running there? "
                        "Another address: --server HOST:PORT, or HEED_SERVER");
  } else if (status.code() == absl::StatusCode::kDeadlineExceeded) {
    text = absl::StrCat("DEADLINE_EXCEEDED: no answer from ", server, " within ",
                        absl::FormatDuration(timeout), "\n  more time: --timeout SECONDS");
  } else if (status.code() == absl::StatusCode::kUnimplemented) {
    text = absl::StrCat(FormatError(status), "\n  is ", server, " a Heed server of this version?");
  } else {
    text = FormatError(status);
  }
  return EscapeLines(text);
}

void PrintError(absl::string_view text, Io& io) {
  io.out->flush();
  *io.err << absl::StrCat("heed: ", text, "\n");
  io.err->flush();
}

int Finish(int code, Io& io) {
  io.out->flush();
  if (io.out->good()) return code;
  *io.err << "heed: cannot write to standard output\n";
  return code == kSuccess ? kRefused : code;
}

}  // namespace heed::cli
