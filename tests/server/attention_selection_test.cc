#include "server/attention_selection.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "model/api/error.h"

namespace heed {
namespace {

using Entries = std::vector<int64_t>;

absl::StatusOr<Entries> Resolve(const std::string& text, int64_t count) {
  v1::IndexSelector selector;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &selector)) << text;
  return ResolveSelector(selector, count, "layers");
}

TEST(AttentionSelectionTest, EmptyMeansAll) {
  EXPECT_EQ(*Resolve("", 3), Entries({0, 1, 2}));
  EXPECT_EQ(*Resolve("", 0), Entries());
}

TEST(AttentionSelectionTest, IndicesThenRangesInTheirOrderEachOnce) {
  EXPECT_EQ(*Resolve("ranges { start: 1 end: 4 } indices: [5, 2, 5]", 6), Entries({5, 2, 1, 3}));
  EXPECT_EQ(*Resolve("ranges { start: 4 end: 6 } ranges { start: 0 end: 5 }", 6),
            Entries({4, 5, 0, 1, 2, 3}));
}

TEST(AttentionSelectionTest, NegativeNumbersCountFromTheEnd) {
  EXPECT_EQ(*Resolve("indices: [-1, -6, 5]", 6), Entries({5, 0}));
  EXPECT_EQ(*Resolve("ranges { start: -3 end: -1 }", 6), Entries({3, 4}));
  EXPECT_EQ(*Resolve("ranges { start: -2 end: 6 }", 6), Entries({4, 5}));
  EXPECT_EQ(*Resolve("ranges { start: 0 end: 6 }", 6), Entries({0, 1, 2, 3, 4, 5}));
}

TEST(AttentionSelectionTest, WhatIsOutsideIsNamed) {
  const struct {
    const char* selector;
    const char* reason;
    const char* field;
    const char* value;
  } cases[] = {
      {"indices: [0, 1, 6]", "INDEX_OUT_OF_RANGE", "layers.indices[2]", "6"},
      {"indices: -7", "INDEX_OUT_OF_RANGE", "layers.indices[0]", "-7"},
      {"indices: 2147483647", "INDEX_OUT_OF_RANGE", "layers.indices[0]", "2147483647"},
      {"indices: -2147483648", "INDEX_OUT_OF_RANGE", "layers.indices[0]", "-2147483648"},
      {"ranges { start: 6 end: 6 }", "INDEX_OUT_OF_RANGE", "layers.ranges[0].start", "6"},
      {"ranges { end: 1 } ranges { end: 7 }", "INDEX_OUT_OF_RANGE", "layers.ranges[1].end", "7"},
      {"ranges { start: 1 end: -7 }", "INDEX_OUT_OF_RANGE", "layers.ranges[0].end", "-7"},
      {"ranges { start: 3 end: 3 }", "EMPTY_RANGE", "layers.ranges[0]", ""},
      {"ranges { start: 3 end: 2 }", "EMPTY_RANGE", "layers.ranges[0]", ""},
      {"ranges { }", "EMPTY_RANGE", "layers.ranges[0]", ""},
      {"ranges { start: -1 end: -1 }", "EMPTY_RANGE", "layers.ranges[0]", ""},
  };
  for (const auto& c : cases) {
    const absl::Status status = Resolve(c.selector, 6).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.selector;
    const ErrorDetail detail = GetErrorDetail(status);
    EXPECT_EQ(detail.reason, c.reason) << c.selector;
    EXPECT_EQ(detail.field, c.field) << c.selector;
    if (*c.value != '\0') {
      EXPECT_EQ(detail.metadata.at("value"), c.value);
      EXPECT_EQ(detail.metadata.at("count"), "6");
    }
  }
}

TEST(AttentionSelectionTest, TooManyEntriesAreRefused) {
  v1::IndexSelector selector;
  for (int i = 0; i < kMaxSelectedIndices; ++i) selector.add_indices(0);
  EXPECT_EQ(*ResolveSelector(selector, 2, "heads"), Entries({0}));
  selector.add_indices(0);
  ErrorDetail detail = GetErrorDetail(ResolveSelector(selector, 2, "heads").status());
  EXPECT_EQ(detail.reason, "TOO_MANY_ENTRIES");
  EXPECT_EQ(detail.field, "heads.indices");
  selector.clear_indices();
  for (int i = 0; i <= kMaxSelectedRanges; ++i) selector.add_ranges()->set_end(1);
  detail = GetErrorDetail(ResolveSelector(selector, 2, "heads").status());
  EXPECT_EQ(detail.field, "heads.ranges");
  EXPECT_EQ(detail.metadata.at("limit"), absl::StrCat(kMaxSelectedRanges));
}

}  // namespace
}  // namespace heed
