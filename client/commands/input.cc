#include "client/commands/input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/render/text.h"

namespace heed::cli {
namespace {

constexpr size_t kBlockBytes = size_t{64} << 10;
constexpr size_t kMaxLineBytes = size_t{64} << 20;
constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

absl::Status CheckUtf8(absl::string_view text, absl::string_view where) {
  const std::optional<size_t> bad = FindBadUtf8(text);
  if (!bad.has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(where, " is not UTF-8 (byte ", *bad + 1, ")"));
}

// {"text": "…", "text_pair": "…"}; other keys are somebody else's.
absl::Status ParseJsonLine(const std::string& line, absl::string_view where, v1::TextInput* input) {
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(where, " is not a JSON object"));
  }
  const auto text = json.find("text");
  if (text == json.end() || !text->is_string()) {
    return absl::InvalidArgumentError(absl::StrCat(where, " has no string \"text\""));
  }
  input->set_text(text->get<std::string>());
  const auto pair = json.find("text_pair");
  if (pair == json.end() || pair->is_null()) return absl::OkStatus();
  if (!pair->is_string()) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": \"text_pair\" is not a string"));
  }
  input->set_text_pair(pair->get<std::string>());
  return absl::OkStatus();
}

class ArgumentInput : public CommandInput {
 public:
  explicit ArgumentInput(const InputOptions& options) : options_(options) {}

  absl::StatusOr<bool> Next(v1::TextInput* input) override {
    if (next_ == options_.texts.size()) return false;
    const std::string& text = options_.texts[next_];
    if (absl::Status status = CheckUtf8(text, Describe(next_)); !status.ok()) return status;
    ++next_;
    input->set_text(text);
    if (options_.pair.has_value()) input->set_text_pair(*options_.pair);
    return true;
  }

  std::string Describe(uint64_t index) const override { return absl::StrCat("text ", index + 1); }

 private:
  const InputOptions options_;
  size_t next_ = 0;
};

class LineInput : public CommandInput {
 public:
  LineInput(const InputOptions& options, int fd, bool owns_fd, std::string name)
      : options_(options), fd_(fd), owns_fd_(owns_fd), name_(std::move(name)), reader_(fd) {}
  ~LineInput() override {
    if (owns_fd_) close(fd_);
  }

  absl::StatusOr<bool> Next(v1::TextInput* input) override {
    std::string line;
    do {
      const absl::StatusOr<bool> more = reader_.Next(&line);
      if (!more.ok()) return absl::Status(more.status().code(), InLine(more.status().message()));
      if (!*more) return false;
      ++line_number_;
      if (line_number_ == 1 && absl::StartsWith(line, kByteOrderMark)) {
        line.erase(0, kByteOrderMark.size());
      }
      // Only JSON Lines have lines that say nothing; an empty line of text is an empty text.
    } while (options_.jsonl && line.find_first_not_of(" \t") == std::string::npos);
    const std::string where = absl::StrCat("line ", line_number_, " of ", name_);
    if (absl::Status status = CheckUtf8(line, where); !status.ok()) return status;
    if (options_.jsonl) {
      if (absl::Status status = ParseJsonLine(line, where, input); !status.ok()) return status;
    } else {
      input->set_text(std::move(line));
    }
    if (options_.pair.has_value() && !input->has_text_pair()) input->set_text_pair(*options_.pair);
    return true;
  }

  bool Ready() override { return reader_.Ready(); }

  std::string Describe(uint64_t index) const override {
    return absl::StrCat(options_.jsonl ? "record " : "line ", index + 1, " of ", name_);
  }

 private:
  std::string InLine(absl::string_view message) const {
    return absl::StrCat("line ", line_number_ + 1, " of ", name_, ": ", message);
  }

  const InputOptions options_;
  const int fd_;
  const bool owns_fd_;
  const std::string name_;
  LineReader reader_;
  uint64_t line_number_ = 0;
};

absl::StatusOr<std::unique_ptr<CommandInput>> OpenFile(const InputOptions& options) {
  const int fd = open(options.file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info = {};
  const bool opened = fd >= 0 && fstat(fd, &info) == 0;
  if (!opened || S_ISDIR(info.st_mode)) {
    const int error = opened ? EISDIR : errno;
    if (fd >= 0) close(fd);
    return absl::NotFoundError(absl::StrCat("cannot read ", options.file, ": ", strerror(error)));
  }
  return std::make_unique<LineInput>(options, fd, /*owns_fd=*/true, options.file);
}

}  // namespace

absl::StatusOr<bool> LineReader::Next(std::string* line) {
  while (true) {
    const size_t newline = buffer_.find('\n', scanned_);
    if (newline != std::string::npos || (end_ && begin_ < buffer_.size())) {
      const size_t stop = newline == std::string::npos ? buffer_.size() : newline;
      line->assign(buffer_, begin_, stop - begin_);
      begin_ = scanned_ = newline == std::string::npos ? stop : stop + 1;
      if (!line->empty() && line->back() == '\r') line->pop_back();
      return true;
    }
    if (end_) return false;
    buffer_.erase(0, begin_);
    begin_ = 0;
    scanned_ = buffer_.size();
    if (scanned_ > kMaxLineBytes) return absl::ResourceExhaustedError("longer than 64 MiB");
    buffer_.resize(scanned_ + kBlockBytes);
    const ssize_t count = read(fd_, buffer_.data() + scanned_, kBlockBytes);
    const int error = errno;
    buffer_.resize(scanned_ + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) end_ = true;
    if (count < 0 && error != EINTR) {
      return absl::UnknownError(absl::StrCat("cannot read: ", strerror(error)));
    }
  }
}

bool LineReader::Ready() {
  if (end_ || buffer_.find('\n', scanned_) != std::string::npos) return true;
  pollfd waiting = {.fd = fd_, .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, 0) != 0;
}

absl::StatusOr<std::unique_ptr<CommandInput>> OpenInput(const InputOptions& options, const Io& io) {
  if (options.pair.has_value()) {
    if (absl::Status status = CheckUtf8(*options.pair, "--pair"); !status.ok()) return status;
  }
  if (!options.texts.empty()) {
    if (!options.file.empty()) {
      return absl::InvalidArgumentError("texts come from arguments or from --file, not from both");
    }
    if (options.jsonl) {
      return absl::InvalidArgumentError("--jsonl reads --file or standard input, not arguments");
    }
    return std::make_unique<ArgumentInput>(options);
  }
  if (!options.file.empty() && options.file != "-") return OpenFile(options);
  if (options.file.empty() && io.in_is_terminal) {
    return absl::InvalidArgumentError("no text: give TEXT, --file FILE, or pipe lines in");
  }
  return std::make_unique<LineInput>(options, io.in_fd, /*owns_fd=*/false, "standard input");
}

}  // namespace heed::cli
