#include "model/attention/pattern_options.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "model/api/error.h"

namespace heed {

int64_t PatternReader::Int(absl::string_view option, int64_t low, int64_t high) {
  if (!options_.contains(std::string(option))) Fail(option, "is missing");
  return Int(option, low, low, high);
}

int64_t PatternReader::Int(absl::string_view option, int64_t fallback, int64_t low, int64_t high) {
  read_.emplace(option);
  const auto found = options_.find(std::string(option));
  if (found == options_.end()) return fallback;
  int64_t value = 0;
  if (!absl::SimpleAtoi(found->second, &value) || value < low || value > high) {
    Fail(option, absl::StrCat("is not an integer in [", low, ", ", high, "]"));
    return fallback;
  }
  return value;
}

std::vector<int64_t> PatternReader::Ints(absl::string_view option, int64_t low, int64_t high) {
  read_.emplace(option);
  const auto found = options_.find(std::string(option));
  std::vector<int64_t> values;
  if (found == options_.end() || found->second.empty()) return values;
  for (const absl::string_view part : absl::StrSplit(found->second, ',')) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(part, &value) || value < low || value > high) {
      Fail(option, absl::StrCat("is not a list of integers in [", low, ", ", high, "]"));
      return {};
    }
    values.push_back(value);
  }
  return values;
}

absl::Status PatternReader::Finish() {
  for (const auto& [name, value] : options_) {
    if (!read_.contains(name)) Fail(name, "is not one it has");
  }
  return status_;
}

void PatternReader::Fail(absl::string_view option, absl::string_view why) {
  if (!status_.ok()) return;
  const auto found = options_.find(std::string(option));
  const std::string value = found == options_.end() ? "absent" : found->second;
  status_ = MakeError(absl::StatusCode::kInvalidArgument, "BAD_PATTERN_OPTION",
                      absl::StrCat("attention pattern \"", pattern_, "\": option \"", option,
                                   "\" (", value, ") ", why),
                      {{"attentionPattern", pattern_}, {"option", std::string(option)}});
}

}  // namespace heed
