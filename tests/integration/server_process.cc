#include "tests/integration/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace heed::testing {
namespace {

void AddDefault(std::vector<std::string>& arguments, const std::string& flag) {
  const bool given = std::any_of(arguments.begin(), arguments.end(),
                                 [&](const std::string& a) { return absl::StartsWith(a, flag); });
  if (!given) arguments.push_back(flag + "=127.0.0.1:0");
}

// One line without its end; false when the writer is gone.
bool ReadLine(int fd, std::string& line) {
  line.clear();
  char c = 0;
  while (read(fd, &c, 1) == 1) {
    if (c == '\n') return true;
    line.push_back(c);
  }
  return false;
}

// In the child: becomes the server.
[[noreturn]] void Exec(const std::vector<std::string>& arguments, int out, const char* log_path) {
  dup2(out, STDOUT_FILENO);
  const int log = open(log_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(log, STDERR_FILENO);
  std::string program = HEED_SERVER_PROGRAM;
  std::vector<char*> argv = {program.data()};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(HEED_SERVER_PROGRAM, argv.data());
  _exit(127);
}

}  // namespace

CommandResult RunShell(const std::string& command) {
  CommandResult result;
  FILE* const pipe = popen(absl::StrCat("{ ", command, "\n} 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> block{};
  for (size_t count = 0; (count = fread(block.data(), 1, block.size(), pipe)) > 0;) {
    result.output.append(block.data(), count);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

std::unique_ptr<ServerProcess> ServerProcess::Start(std::vector<std::string> arguments) {
  AddDefault(arguments, "--listen");
  AddDefault(arguments, "--metrics-listen");
  std::unique_ptr<ServerProcess> server(new ServerProcess);
  std::string log_path = ::testing::TempDir() + "/heed-server-XXXXXX";
  const int log = mkstemp(log_path.data());
  close(log);
  server->log_path_ = log_path;
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  server->pid_ = fork();
  if (server->pid_ == 0) Exec(arguments, ends[1], log_path.c_str());
  close(ends[1]);
  server->stdout_fd_ = ends[0];
  std::string line;
  while (server->metrics_address_.empty() && ReadLine(ends[0], line)) {
    if (absl::StartsWith(line, "listening on ")) server->address_ = line.substr(13);
    if (absl::StartsWith(line, "metrics on ")) server->metrics_address_ = line.substr(11);
  }
  if (!server->metrics_address_.empty()) return server;
  ADD_FAILURE() << "the server ended with " << server->Wait() << ":\n" << server->Log();
  return nullptr;
}

ServerProcess::~ServerProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    Wait();
  }
  close(stdout_fd_);
  unlink(log_path_.c_str());
}

void ServerProcess::Signal(int signal) const { kill(pid_, signal); }

int ServerProcess::Wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string ServerProcess::Log() const {
  std::ifstream file(log_path_);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string ServerProcess::Metrics() const {
  return RunShell(absl::StrCat("curl -sS --noproxy '*' http://", metrics_address_, "/metrics"))
      .output;
}

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  close(fd);
  return ntohs(address.sin_port);
}

}  // namespace heed::testing
