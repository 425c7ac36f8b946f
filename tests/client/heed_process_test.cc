// The program `heed` as a shell runs it: exit codes, pipes, terminals, environment.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/fake_server.h"

namespace heed {
namespace {

using testing::FakeServer;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Outcome {
  int exit_code = -1;  // or
  int signal = 0;
  std::string out;
  std::string err;
};

std::string ReadAll(int fd) {
  std::string all;
  char block[4096];
  // A terminal whose other end is closed gives an error instead of an end.
  for (ssize_t count = 0; (count = read(fd, block, sizeof(block))) > 0;) {
    all.append(block, static_cast<size_t>(count));
  }
  return all;
}

struct Ends {
  int parent = -1;
  int child = -1;
};

Ends OpenPipe(bool child_reads) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  return child_reads ? Ends{ends[1], ends[0]} : Ends{ends[0], ends[1]};
}

Ends OpenTerminal(unsigned short columns) {
  winsize size = {.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  Ends ends;
  EXPECT_EQ(openpty(&ends.parent, &ends.child, nullptr, nullptr, &size), 0);
  fcntl(ends.parent, F_SETFD, FD_CLOEXEC);
  fcntl(ends.child, F_SETFD, FD_CLOEXEC);
  return ends;
}

struct Setting {
  std::string input;
  std::vector<std::string> environment;
  bool stdin_terminal = false;
  unsigned short stdout_columns = 0;  // 0: a pipe, else a terminal this wide
  bool close_stdout = false;          // nobody reads, as behind `| head`
};

pid_t Spawn(const std::vector<std::string>& arguments, const Setting& setting, const Ends& in,
            const Ends& out, const Ends& err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.child, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.child, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.child, STDERR_FILENO);
  std::vector<char*> argv;
  std::string program = HEED_PROGRAM;
  argv.push_back(program.data());
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> environment;
  for (const std::string& variable : setting.environment) {
    environment.push_back(const_cast<char*>(variable.c_str()));
  }
  environment.push_back(nullptr);
  pid_t child = -1;
  EXPECT_EQ(posix_spawn(&child, HEED_PROGRAM, &actions, nullptr, argv.data(), environment.data()),
            0);
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

Outcome RunHeed(const std::vector<std::string>& arguments, const Setting& setting = {}) {
  Ends in = setting.stdin_terminal ? OpenTerminal(80) : OpenPipe(/*child_reads=*/true);
  Ends out = setting.stdout_columns > 0 ? OpenTerminal(setting.stdout_columns) : OpenPipe(false);
  Ends err = OpenPipe(false);
  if (setting.close_stdout) close(out.parent);
  const pid_t child = Spawn(arguments, setting, in, out, err);
  for (const Ends& ends : {in, out, err}) close(ends.child);
  std::thread writer([&] {
    for (size_t done = 0; done < setting.input.size();) {
      const ssize_t count =
          write(in.parent, setting.input.data() + done, setting.input.size() - done);
      if (count <= 0) break;
      done += static_cast<size_t>(count);
    }
    if (!setting.stdin_terminal) close(in.parent);
  });
  Outcome outcome;
  std::thread reader([&] {
    if (!setting.close_stdout) outcome.out = ReadAll(out.parent);
  });
  outcome.err = ReadAll(err.parent);
  writer.join();
  reader.join();
  if (setting.stdin_terminal) close(in.parent);
  if (!setting.close_stdout) close(out.parent);
  close(err.parent);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

class HeedProcessTest : public ::testing::Test {
 protected:
  // The writer thread of a test must see an error where the program stopped reading.
  HeedProcessTest() { std::signal(SIGPIPE, SIG_IGN); }

  FakeServer server_;
  const std::vector<std::string> environment_ = {"HEED_SERVER=" + server_.address()};
};

TEST_F(HeedProcessTest, ZeroForAnAnswer) {
  const Outcome outcome = RunHeed({"classify", "a good day"}, {.environment = environment_});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("positive  0.9000  █████████   a good day\n"));
  EXPECT_EQ(outcome.err, "");
}

TEST_F(HeedProcessTest, OneForARefusal) {
  const Outcome outcome = RunHeed({"classify", "fail"}, {.environment = environment_});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, StartsWith("heed: INVALID_ARGUMENT: inputs[0].text has 600 tokens"));
}

TEST_F(HeedProcessTest, TwoForWrongUsage) {
  EXPECT_EQ(RunHeed({"classify", "--nonsense"}).exit_code, 2);
  EXPECT_EQ(RunHeed({}).exit_code, 2);
}

TEST_F(HeedProcessTest, ThreeWhereNobodyListens) {
  const testing::RefusedAddress nobody;
  for (const char* command : {"health", "models"}) {
    const Outcome outcome = RunHeed({"--server", nobody.address(), command});
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_EQ(outcome.err,
              absl::StrCat("heed: UNAVAILABLE: cannot reach ", nobody.address(),
                           ": Connection refused\n  is heed-server running there? Another "
                           "address: --server HOST:PORT, or HEED_SERVER\n"));
  }
}

TEST_F(HeedProcessTest, TheFlagWinsOverTheEnvironment) {
  const testing::RefusedAddress nobody;
  const Outcome outcome = RunHeed({"health", "--server", server_.address()},
                                  {.environment = {"HEED_SERVER=" + nobody.address()}});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST_F(HeedProcessTest, AnswersEachLineOfAPipeInOrder) {
  std::string input;
  for (int i = 0; i < 3000; ++i) absl::StrAppend(&input, "line ", i, "\n");
  const Outcome outcome =
      RunHeed({"classify", "--json"}, {.input = input, .environment = environment_});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  size_t at = 0;
  for (int i = 0; i < 3000; ++i) {
    at = outcome.out.find(absl::StrCat("{\"index\":", i, ",\"text\":\"line ", i, "\","), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  for (const auto& request : server_.requests()) EXPECT_LE(request.inputs_size(), 256);
}

TEST_F(HeedProcessTest, AReaderThatLeavesIsNoMessage) {
  std::string input;
  for (int i = 0; i < 3000; ++i) absl::StrAppend(&input, "line ", i, "\n");
  const Outcome outcome =
      RunHeed({"classify"}, {.input = input, .environment = environment_, .close_stdout = true});
  EXPECT_EQ(outcome.signal, SIGPIPE);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(HeedProcessTest, AFullDiskIsAMessage) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) GTEST_SKIP() << "no /dev/full here";
  close(full);
  const std::string command =
      absl::StrCat(HEED_PROGRAM, " --server ", server_.address(), " models > /dev/full 2>&1");
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST_F(HeedProcessTest, ATerminalWithoutATextIsWrongUsage) {
  const Outcome outcome =
      RunHeed({"classify"}, {.environment = environment_, .stdin_terminal = true});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "heed: no text: give TEXT, --file FILE, or pipe lines in\n");
}

TEST_F(HeedProcessTest, FitsTheTerminalAndUsesColours) {
  const std::string text = "good " + std::string(200, 'x');
  const Outcome outcome =
      RunHeed({"classify", text}, {.environment = environment_, .stdout_columns = 60});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\x1b[1mLABEL"));
  EXPECT_THAT(outcome.out, HasSubstr("good xxxxxxxxxxxxxxxxxxxxxxxx…\r\n"));
}

TEST_F(HeedProcessTest, NoColorTurnsColoursOff) {
  std::vector<std::string> environment = environment_;
  environment.push_back("NO_COLOR=1");
  const Outcome outcome = RunHeed({"health"}, {.environment = environment, .stdout_columns = 60});
  EXPECT_EQ(outcome.out, "SERVING\r\n");
}

TEST_F(HeedProcessTest, APipeGetsWholeTextsWithoutColours) {
  const std::string text(500, 'x');
  const Outcome outcome = RunHeed({"classify", text}, {.environment = environment_});
  EXPECT_THAT(outcome.out, HasSubstr(text + "\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace heed
