// The real heed-server as a child process, on ports that the system picks.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace heed::testing {

struct CommandResult {
  int exit_code = -1;
  std::string output;  // standard output and standard error
};

// Runs `command` in a shell.
CommandResult RunShell(const std::string& command);

class ServerProcess {
 public:
  // Starts `heed-server ARGUMENTS`, listening on a free port unless the arguments name one, and
  // waits until it says that it listens. Null, with a test failure, if it ends before that.
  static std::unique_ptr<ServerProcess> Start(std::vector<std::string> arguments);
  // Kills it if it still runs.
  ~ServerProcess();

  const std::string& address() const { return address_; }
  const std::string& metrics_address() const { return metrics_address_; }
  pid_t pid() const { return pid_; }

  void Signal(int signal) const;
  // Waits for its end. The exit code, or minus the signal that ended it.
  int Wait();

  // What it has written to standard error.
  std::string Log() const;
  // The text of /metrics.
  std::string Metrics() const;

 private:
  ServerProcess() = default;

  pid_t pid_ = -1;
  int stdout_fd_ = -1;
  std::string log_path_;
  std::string address_;
  std::string metrics_address_;
};

// A port that was free a moment ago.
int FreePort();

}  // namespace heed::testing
