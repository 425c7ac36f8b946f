// What the patterns share in reading their options; every error names the pattern and the option.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "model/attention/pattern.h"

namespace heed {

class PatternReader {
 public:
  PatternReader(absl::string_view pattern, const PatternOptions& options)
      : pattern_(pattern), options_(options) {}

  // A required integer in [low, high].
  int64_t Int(absl::string_view option, int64_t low, int64_t high);
  // The same with a default.
  int64_t Int(absl::string_view option, int64_t fallback, int64_t low, int64_t high);
  // A comma-separated list of integers in [low, high]; absent: empty.
  std::vector<int64_t> Ints(absl::string_view option, int64_t low, int64_t high);

  // The first error, or one for the first option that was not read, or OK.
  absl::Status Finish();

 private:
  void Fail(absl::string_view option, absl::string_view why);

  const std::string pattern_;
  const PatternOptions& options_;
  std::set<std::string, std::less<>> read_;
  absl::Status status_;
};

}  // namespace heed
