// Runs `heed` inside the test, against a fake server.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <vector>

#include "client/commands/cli.h"
#include "tests/client/fake_server.h"

namespace heed::cli {

class CliTest : public ::testing::Test {
 protected:
  CliTest() {
    io_.out = &out_;
    io_.err = &err_;
    io_.in_is_terminal = true;
    io_.now = [this] { return now_; };
    io_.sleep = [this](absl::Duration wait) { now_ += wait; };
  }

  // Runs `heed --server FAKE arguments…` with `input` on standard input.
  int Run(std::vector<std::string> arguments, const std::string& input = "") {
    int ends[2] = {-1, -1};
    if (!input.empty()) {
      EXPECT_EQ(pipe(ends), 0);
      EXPECT_EQ(write(ends[1], input.data(), input.size()), static_cast<ssize_t>(input.size()));
      close(ends[1]);
      io_.in_fd = ends[0];
      io_.in_is_terminal = false;
    }
    arguments.insert(arguments.begin(), {"heed", "--server", server_.address()});
    std::vector<const char*> argv;
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    const int code = RunCli(static_cast<int>(argv.size()), argv.data(), io_);
    if (ends[0] >= 0) close(ends[0]);
    return code;
  }

  std::vector<std::string> SentTexts() const {
    std::vector<std::string> texts;
    for (const auto& request : server_.requests()) {
      for (const auto& input : request.inputs()) texts.push_back(input.text());
    }
    return texts;
  }

  testing::FakeServer server_;
  std::ostringstream out_;
  std::ostringstream err_;
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  Io io_;
};

}  // namespace heed::cli
