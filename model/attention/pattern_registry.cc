#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/api/error.h"
#include "model/attention/pattern.h"

namespace heed {

#define HEED_PATTERN(name)                                                     \
  absl::StatusOr<std::shared_ptr<const AttentionPattern>> Make_pattern_##name( \
      const PatternOptions& options);
#include "model/attention/patterns.inc"
#undef HEED_PATTERN

namespace {

using Factory = absl::StatusOr<std::shared_ptr<const AttentionPattern>> (*)(const PatternOptions&);

const std::map<std::string, Factory>& Factories() {
  static const auto* const factories = new std::map<std::string, Factory>{
#define HEED_PATTERN(name) {#name, Make_pattern_##name},
#include "model/attention/patterns.inc"
#undef HEED_PATTERN
  };
  return *factories;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const AttentionPattern>> MakeAttentionPattern(
    absl::string_view name, const PatternOptions& options) {
  const auto factory = Factories().find(std::string(name));
  if (factory == Factories().end()) {
    return MakeError(absl::StatusCode::kUnimplemented, "UNSUPPORTED_ATTENTION_PATTERN",
                     absl::StrCat("attention pattern \"", name, "\" is not one of ",
                                  absl::StrJoin(AttentionPatternNames(), ", ")),
                     {{"attentionPattern", std::string(name)}});
  }
  return factory->second(options);
}

std::vector<std::string> AttentionPatternNames() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : Factories()) names.push_back(name);
  return names;
}

int64_t TileRows(int64_t row_count, int64_t key_count, int64_t max_scores) {
  constexpr int64_t kMinRows = 16;
  return std::min(row_count, std::max(kMinRows, max_scores / std::max<int64_t>(key_count, 1)));
}

}  // namespace heed
