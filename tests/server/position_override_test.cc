#include "server/position_override.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "model/api/error.h"
#include "tests/fakes/fake_model.h"

namespace heed {
namespace {

using Positions = std::vector<int64_t>;

ModelInfo Info(int64_t limit) {
  ModelInfo info;
  info.position_limit = limit;
  return info;
}

v1::PositionOverride Offset(int64_t offset) {
  v1::PositionOverride override;
  override.set_offset(offset);
  return override;
}

v1::PositionOverride List(const Positions& positions) {
  v1::PositionOverride override;
  override.mutable_positions()->mutable_positions()->Add(positions.begin(), positions.end());
  return override;
}

// Both steps, as a handler takes them.
absl::Status Apply(const v1::PositionOverride& override, const ModelInfo& info, TokenIds& input) {
  const absl::Status status = CheckPositionOverride(override, 1, info);
  return status.ok() ? ApplyPositionOverride(override, info, input) : status;
}

TEST(PositionOverrideTest, NothingSetChangesNothing) {
  TokenIds input = MakeIds(3);
  EXPECT_TRUE(Apply(v1::PositionOverride(), Info(3), input).ok());
  v1::PositionOverride off;
  off.set_disabled(false);
  EXPECT_TRUE(Apply(off, Info(3), input).ok());
  EXPECT_TRUE(input.positions.empty());
  EXPECT_FALSE(input.positions_disabled);
}

TEST(PositionOverrideTest, Disabled) {
  TokenIds input = MakeIds(3);
  v1::PositionOverride override;
  override.set_disabled(true);
  EXPECT_TRUE(Apply(override, Info(3), input).ok());
  EXPECT_TRUE(input.positions_disabled);
}

TEST(PositionOverrideTest, OffsetAddsToThePositionsThereAre) {
  TokenIds input = MakeIds(3);
  EXPECT_TRUE(Apply(Offset(7), Info(10), input).ok());
  EXPECT_EQ(input.positions, Positions({7, 8, 9}));
  EXPECT_TRUE(Apply(Offset(-7), Info(10), input).ok());
  EXPECT_EQ(input.positions, Positions({0, 1, 2}));
}

TEST(PositionOverrideTest, OffsetBeyondTheEncodingIsRefused) {
  for (const int64_t offset :
       {int64_t{8}, int64_t{-1}, int64_t{10}, int64_t{-10}, std::numeric_limits<int64_t>::max(),
        std::numeric_limits<int64_t>::min()}) {
    TokenIds input = MakeIds(3);
    const absl::Status status = Apply(Offset(offset), Info(10), input);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << offset;
    EXPECT_EQ(GetErrorDetail(status).reason, "POSITION_OUT_OF_RANGE");
    EXPECT_EQ(GetErrorDetail(status).field, "position_override.offset");
    EXPECT_EQ(GetErrorDetail(status).metadata.at("limit"), "10");
    EXPECT_TRUE(input.positions.empty());
  }
}

TEST(PositionOverrideTest, NoLimitOfTheEncodingIsStillALimit) {
  TokenIds input = MakeIds(3);
  EXPECT_TRUE(Apply(Offset(1000000), Info(0), input).ok());
  EXPECT_EQ(input.positions.back(), 1000002);
  EXPECT_FALSE(Apply(Offset(int64_t{1} << 40), Info(0), input).ok());
}

TEST(PositionOverrideTest, ListOfPositions) {
  TokenIds input = MakeIds(3);
  EXPECT_TRUE(Apply(List({5, 0, 5}), Info(6), input).ok());
  EXPECT_EQ(input.positions, Positions({5, 0, 5}));
}

TEST(PositionOverrideTest, ListsThatDoNotFitAreRefused) {
  TokenIds input = MakeIds(3);
  ErrorDetail detail = GetErrorDetail(Apply(List({0, 6, 1}), Info(6), input));
  EXPECT_EQ(detail.reason, "POSITION_OUT_OF_RANGE");
  EXPECT_EQ(detail.field, "position_override.positions.positions[1]");
  EXPECT_EQ(detail.metadata.at("value"), "6");
  detail = GetErrorDetail(Apply(List({0, 1, -1}), Info(6), input));
  EXPECT_EQ(detail.field, "position_override.positions.positions[2]");
  detail = GetErrorDetail(Apply(List({0, 1}), Info(6), input));
  EXPECT_EQ(detail.reason, "POSITION_COUNT");
  EXPECT_EQ(detail.metadata.at("tokenCount"), "3");
  detail = GetErrorDetail(Apply(List({}), Info(6), input));
  EXPECT_EQ(detail.reason, "POSITION_COUNT");
  EXPECT_EQ(detail.metadata.at("count"), "0");
  detail = GetErrorDetail(CheckPositionOverride(List({0, 1, 2}), 2, Info(6)));
  EXPECT_EQ(detail.reason, "SINGLE_INPUT_NEEDED");
  EXPECT_EQ(detail.field, "position_override.positions.positions");
}

}  // namespace
}  // namespace heed
