#include "server/position_override.h"

#include "absl/strings/str_cat.h"
#include "model/api/error.h"

namespace heed {
namespace {

// Of models without a table: whatever a rule computes stays exact in float64.
constexpr int64_t kAnyPosition = int64_t{1} << 53;

absl::Status OutOfRange(int64_t value, int64_t low, int64_t high, const std::string& field) {
  return MakeError(absl::StatusCode::kInvalidArgument, "POSITION_OUT_OF_RANGE",
                   absl::StrCat(value, " is not in ", low, " to ", high),
                   {{"value", absl::StrCat(value)},
                    {"minimum", absl::StrCat(low)},
                    {"maximum", absl::StrCat(high)}},
                   field);
}

}  // namespace

absl::Status ApplyPositionOverride(const v1::PositionOverride& change, const ModelInfo& info,
                                   TokenIds& text) {
  const int64_t limit = info.position_limit > 0 ? info.position_limit : kAnyPosition;
  const auto count = static_cast<int64_t>(text.size());
  switch (change.override_case()) {
    case v1::PositionOverride::kDisabled:
      text.positions_disabled = change.disabled();
      return absl::OkStatus();
    case v1::PositionOverride::kOffset: {
      const int64_t offset = change.offset();
      if (offset < 0 || offset > limit - count) {
        return OutOfRange(offset, 0, limit - count, "position_override.offset");
      }
      for (int64_t i = 0; i < count; ++i) text.positions.push_back(offset + i);
      return absl::OkStatus();
    }
    case v1::PositionOverride::kPositions: {
      const auto& positions = change.positions().positions();
      if (positions.size() != count) {
        return MakeError(absl::StatusCode::kInvalidArgument, "POSITION_COUNT",
                         absl::StrCat("there are ", positions.size(), " positions for ", count,
                                      " tokens, special ones included"),
                         {{"positionCount", absl::StrCat(positions.size())},
                          {"tokenCount", absl::StrCat(count)}},
                         "position_override.positions");
      }
      for (int i = 0; i < positions.size(); ++i) {
        if (positions[i] < 0 || positions[i] >= limit) {
          return OutOfRange(positions[i], 0, limit - 1,
                            absl::StrCat("position_override.positions.positions[", i, "]"));
        }
      }
      text.positions.assign(positions.begin(), positions.end());
      return absl::OkStatus();
    }
    case v1::PositionOverride::OVERRIDE_NOT_SET:
      break;
  }
  return absl::OkStatus();
}

}  // namespace heed
