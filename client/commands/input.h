// Texts for a command: from its arguments, or from a file or standard input, line by line.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/classify_many.h"
#include "client/commands/io.h"

namespace heed::cli {

// Lines of a file descriptor, without their "\n" or "\r\n"; memory for one line and a block.
class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}

  // Puts the next line into `line`; false at the end. A last line without "\n" counts.
  // RESOURCE_EXHAUSTED for a line over 64 MiB, UNKNOWN if reading fails.
  absl::StatusOr<bool> Next(std::string* line);

  // Whether Next() has something to read now: a line, the end, or bytes that wait.
  bool Ready();

 private:
  const int fd_;
  std::string buffer_;
  size_t begin_ = 0;    // of the next line
  size_t scanned_ = 0;  // no "\n" between begin_ and here
  bool end_ = false;
};

// What the user asked to read.
struct InputOptions {
  std::vector<std::string> texts;
  std::string file;  // "-": standard input; empty: texts, or standard input where it is no terminal
  bool jsonl = false;
  std::optional<std::string> pair;  // second text of every input without one of its own
};

// Texts with a way to say where each came from.
class CommandInput : public InputSource {
 public:
  // "line 12 of reviews.txt", "text 2" for the index-th text, counted from 0.
  virtual std::string Describe(uint64_t index) const = 0;
};

// The texts that `options` names. INVALID_ARGUMENT or NOT_FOUND, with a message for the user, for
// options that fit no input or a file that cannot be opened. The input's Next() fails with
// INVALID_ARGUMENT on a text that is not UTF-8 or a line that is not the JSON wanted, naming it.
absl::StatusOr<std::unique_ptr<CommandInput>> OpenInput(const InputOptions& options, const Io& io);

}  // namespace heed::cli
