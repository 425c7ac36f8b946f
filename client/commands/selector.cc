#include "client/commands/selector.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace heed::cli {
namespace {

// A list that is written out must not fill the memory.
constexpr int64_t kMostWrittenOut = 1 << 20;

struct Range {
  int32_t start = 0;
  int32_t end = 0;
};

// One entry of a list: "3" or "0:4".
struct Entry {
  bool is_range = false;
  Range range;  // of a single number: start
};

absl::Status Wrong(absl::string_view text, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" ", wanted));
}

absl::StatusOr<Entry> ParseEntry(absl::string_view text) {
  Entry entry;
  const std::vector<absl::string_view> ends = absl::StrSplit(text, ':');
  entry.is_range = ends.size() == 2;
  const bool from_start = entry.is_range && ends[0].empty();
  if (ends.size() > 2 || (!from_start && !absl::SimpleAtoi(ends[0], &entry.range.start)) ||
      (entry.is_range && !absl::SimpleAtoi(ends[1], &entry.range.end))) {
    return Wrong(text, "is no number and no range: 3, -1 or 0:4 is wanted");
  }
  const bool same_sign = (entry.range.start < 0) == (entry.range.end < 0);
  if (entry.is_range && same_sign && entry.range.start >= entry.range.end) {
    return Wrong(text, "is an empty range: the end is not part of it");
  }
  return entry;
}

absl::StatusOr<std::vector<Entry>> ParseEntries(absl::string_view text) {
  std::vector<Entry> entries;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const absl::StatusOr<Entry> entry = ParseEntry(part);
    if (!entry.ok()) return entry.status();
    entries.push_back(*entry);
  }
  return entries;
}

bool CanBeWrittenOut(const Range& range) {
  return (range.start < 0) == (range.end < 0) &&
         int64_t{range.end} - int64_t{range.start} <= kMostWrittenOut;
}

}  // namespace

absl::StatusOr<v1::IndexSelector> ParseSelector(absl::string_view text) {
  const absl::StatusOr<std::vector<Entry>> entries = ParseEntries(text);
  if (!entries.ok()) return entries.status();
  size_t singles = entries->size();
  while (singles > 0 && (*entries)[singles - 1].is_range) --singles;
  v1::IndexSelector selector;
  for (size_t i = 0; i < entries->size(); ++i) {
    const Entry& entry = (*entries)[i];
    if (!entry.is_range) {
      selector.add_indices(entry.range.start);
    } else if (i >= singles) {
      selector.add_ranges()->set_start(entry.range.start);
      selector.mutable_ranges(selector.ranges_size() - 1)->set_end(entry.range.end);
    } else if (CanBeWrittenOut(entry.range)) {
      // The message has its ranges behind all single numbers.
      for (int32_t index = entry.range.start; index < entry.range.end; ++index) {
        selector.add_indices(index);
      }
    } else {
      return Wrong(text, "has a range from one end to the other before a number: put it last");
    }
  }
  return selector;
}

absl::StatusOr<v1::PositionOverride> ParsePositions(absl::string_view text) {
  v1::PositionOverride positions;
  if (text == "off") {
    positions.set_disabled(true);
    return positions;
  }
  if (absl::StartsWith(text, "+")) {
    int64_t offset = 0;
    if (!absl::SimpleAtoi(text.substr(1), &offset) || offset < 0) {
      return Wrong(text, "is no offset: +5 is wanted");
    }
    positions.set_offset(offset);
    return positions;
  }
  const absl::StatusOr<std::vector<Entry>> entries = ParseEntries(text);
  if (!entries.ok()) return Wrong(text, "is none of off, +K and a list of positions such as 0,1,5");
  for (const Entry& entry : *entries) {
    const Range range = {entry.range.start,
                         entry.is_range ? entry.range.end : entry.range.start + 1};
    if (range.start < 0 || !CanBeWrittenOut(range)) {
      return Wrong(text, "has a position below 0, or too many of them");
    }
    for (int64_t position = range.start; position < range.end; ++position) {
      positions.mutable_positions()->add_positions(position);
    }
  }
  return positions;
}

}  // namespace heed::cli
