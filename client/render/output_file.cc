#include "client/render/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace heed::cli {
namespace {

absl::Status WriteError(const std::string& path, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot write \"", path, "\""));
}

// 0, or the errno of what failed.
int WriteAll(const std::string& path, absl::string_view content) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return errno;
  int error = 0;
  if (std::fwrite(content.data(), 1, content.size(), file) != content.size()) error = errno;
  if (std::fclose(file) != 0 && error == 0) error = errno;
  return error;
}

}  // namespace

absl::Status WriteFile(const std::string& path, absl::string_view content) {
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(path, error);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    const int failed = WriteAll(path, content);
    return failed == 0 ? absl::OkStatus() : WriteError(path, failed);
  }
  error.clear();  // status() has one for a file that is not there yet
  // A link stays one: what it leads to is replaced.
  const std::filesystem::path real = std::filesystem::exists(there)
                                         ? std::filesystem::canonical(path, error)
                                         : std::filesystem::path(path);
  if (error) return WriteError(path, error.value());
  const std::string part = absl::StrCat(real.string(), ".", getpid(), ".part");
  const int failed = WriteAll(part, content);
  if (failed != 0) {
    std::remove(part.c_str());
    return WriteError(path, failed);
  }
  std::filesystem::rename(part, real, error);
  if (!error) return absl::OkStatus();
  std::remove(part.c_str());
  return WriteError(path, error.value());
}

}  // namespace heed::cli
