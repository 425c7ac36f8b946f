#include "server/position_override.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/api/error.h"

namespace heed {
namespace {

constexpr char kOffset[] = "position_override.offset";
constexpr char kPositions[] = "position_override.positions.positions";
// Where the encoding has no limit of its own: what every integer type on the way holds.
constexpr int64_t kMostPositions = std::numeric_limits<int32_t>::max();

int64_t Limit(const ModelInfo& info) {
  return info.position_limit > 0 ? info.position_limit : kMostPositions;
}

absl::Status OutOfRange(int64_t value, int64_t limit, const std::string& field,
                        absl::string_view what) {
  return MakeError(absl::StatusCode::kInvalidArgument, "POSITION_OUT_OF_RANGE",
                   absl::StrCat(what, " ", value, ", outside 0 … ", limit - 1),
                   {{"value", absl::StrCat(value)}, {"limit", absl::StrCat(limit)}}, field);
}

absl::Status ApplyOffset(int64_t offset, const ModelInfo& info, TokenIds& input) {
  // Checked to lie within the limits, so that the sums below cannot overflow.
  std::vector<int64_t> positions = input.positions;
  for (size_t i = positions.size(); i < input.size(); ++i) {
    positions.push_back(static_cast<int64_t>(i));
  }
  for (int64_t& position : positions) {
    position += offset;
    if (position >= 0 && position < Limit(info)) continue;
    return OutOfRange(position, Limit(info), kOffset,
                      absl::StrCat("offset ", offset, " moves a token to position"));
  }
  input.positions = std::move(positions);
  return absl::OkStatus();
}

absl::Status ApplyList(const v1::PositionList& list, TokenIds& input) {
  const auto count = static_cast<size_t>(list.positions_size());
  if (count != input.size()) {
    return MakeError(
        absl::StatusCode::kInvalidArgument, "POSITION_COUNT",
        absl::StrCat(kPositions, " has ", count, " entries, the text ", input.size(), " tokens"),
        {{"count", absl::StrCat(count)}, {"tokenCount", absl::StrCat(input.size())}}, kPositions);
  }
  input.positions.assign(list.positions().begin(), list.positions().end());
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPositionOverride(const v1::PositionOverride& override, size_t input_count,
                                   const ModelInfo& info) {
  const int64_t limit = Limit(info);
  if (override.has_offset()) {
    const int64_t offset = override.offset();
    if (offset < limit && offset > -limit) return absl::OkStatus();
    return OutOfRange(offset, limit, kOffset, "offset moves a token by");
  }
  if (!override.has_positions()) return absl::OkStatus();
  if (input_count != 1) {
    return MakeError(absl::StatusCode::kInvalidArgument, "SINGLE_INPUT_NEEDED",
                     absl::StrCat("one list of positions cannot be that of ", input_count,
                                  " inputs; send one input"),
                     {{"count", absl::StrCat(input_count)}}, kPositions);
  }
  for (int i = 0; i < override.positions().positions_size(); ++i) {
    const int64_t position = override.positions().positions(i);
    if (position >= 0 && position < limit) continue;
    const std::string field = absl::StrCat(kPositions, "[", i, "]");
    return OutOfRange(position, limit, field, absl::StrCat(field, " is"));
  }
  return absl::OkStatus();
}

absl::Status ApplyPositionOverride(const v1::PositionOverride& override, const ModelInfo& info,
                                   TokenIds& input) {
  if (override.has_offset()) return ApplyOffset(override.offset(), info, input);
  if (override.has_positions()) return ApplyList(override.positions(), input);
  if (override.disabled()) input.positions_disabled = true;
  return absl::OkStatus();
}

}  // namespace heed
