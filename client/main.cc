// `heed`: the command line client. Everything that reads the process's surroundings is here.
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "client/commands/cli.h"

namespace {

// Columns of the terminal that shows standard output; 0 where there is none. COLUMNS wins.
size_t TerminalColumns(bool out_is_terminal) {
  size_t columns = 0;
  const char* const wanted = std::getenv("COLUMNS");
  if (wanted != nullptr && absl::SimpleAtoi(wanted, &columns)) return columns;
  winsize size = {};
  if (out_is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) return size.ws_col;
  return 0;
}

heed::cli::Palette TerminalPalette() {
  const char* const color_term = std::getenv("COLORTERM");
  const absl::string_view depth = color_term != nullptr ? color_term : "";
  if (depth == "truecolor" || depth == "24bit") return heed::cli::Palette::kTrueColor;
  const char* const term = std::getenv("TERM");
  return term != nullptr && absl::StrContains(term, "256color")
             ? heed::cli::Palette::kGrey256
             : heed::cli::Palette::kShadeCharacters;
}

}  // namespace

int main(int argc, char** argv) {
  // `heed … | head` ends quietly, as other filters do, even if the parent ignores the signal.
  std::signal(SIGPIPE, SIG_DFL);
  // gRPC's own log is for its developers; what a user needs is in the error.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  std::ios::sync_with_stdio(false);

  const char* const no_color = std::getenv("NO_COLOR");
  heed::cli::Io io;
  io.in_fd = STDIN_FILENO;
  io.out = &std::cout;
  io.err = &std::cerr;
  io.in_is_terminal = isatty(STDIN_FILENO) == 1;
  io.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  io.err_is_terminal = isatty(STDERR_FILENO) == 1;
  io.no_color = no_color != nullptr && *no_color != '\0';
  io.palette = TerminalPalette();
  io.columns = TerminalColumns(io.out_is_terminal);
  io.now = [] { return absl::Now(); };
  io.sleep = [](absl::Duration wait) { absl::SleepFor(wait); };
  return heed::cli::RunCli(argc, argv, io);
}
