#include "server/attention_selection.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "model/api/error.h"

namespace heed {
namespace {

absl::Status OutOfRange(int32_t value, int64_t count, int64_t most, const std::string& field) {
  return MakeError(absl::StatusCode::kInvalidArgument, "INDEX_OUT_OF_RANGE",
                   absl::StrCat(field, " is ", value, ", outside ", -count, " … ", most),
                   {{"value", absl::StrCat(value)},
                    {"count", absl::StrCat(count)},
                    {"limit", absl::StrCat(most)}},
                   field);
}

absl::Status EmptyRange(const v1::IndexRange& range, const std::string& field) {
  return MakeError(
      absl::StatusCode::kInvalidArgument, "EMPTY_RANGE",
      absl::StrCat(field, " starts at ", range.start(), ", not before its end ", range.end()),
      {{"start", absl::StrCat(range.start())}, {"end", absl::StrCat(range.end())}}, field);
}

absl::Status CheckEntryCount(int entries, int limit, const std::string& field) {
  if (entries <= limit) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInvalidArgument, "TOO_MANY_ENTRIES",
                   absl::StrCat(field, " has ", entries, " entries, the limit is ", limit),
                   {{"count", absl::StrCat(entries)}, {"limit", absl::StrCat(limit)}}, field);
}

// `value` from the front, or -1. most: the largest it may be.
int64_t FromFront(int32_t value, int64_t count, int64_t most) {
  if (value < -count || value > most) return -1;
  return value < 0 ? value + count : value;
}

// Collects entries in order, each once.
class Chosen {
 public:
  explicit Chosen(int64_t count) : seen_(static_cast<size_t>(count), 0) {}

  void Add(int64_t entry) {
    uint8_t& seen = seen_[static_cast<size_t>(entry)];
    if (seen == 0) entries_.push_back(entry);
    seen = 1;
  }

  std::vector<int64_t> Take() { return std::move(entries_); }

 private:
  std::vector<uint8_t> seen_;
  std::vector<int64_t> entries_;
};

}  // namespace

absl::StatusOr<std::vector<int64_t>> ResolveSelector(const v1::IndexSelector& selector,
                                                     int64_t count, absl::string_view field) {
  Chosen chosen(count);
  if (selector.indices().empty() && selector.ranges().empty()) {
    for (int64_t i = 0; i < count; ++i) chosen.Add(i);
    return chosen.Take();
  }
  absl::Status size = CheckEntryCount(selector.indices_size(), kMaxSelectedIndices,
                                      absl::StrCat(field, ".indices"));
  if (!size.ok()) return size;
  size =
      CheckEntryCount(selector.ranges_size(), kMaxSelectedRanges, absl::StrCat(field, ".ranges"));
  if (!size.ok()) return size;
  for (int i = 0; i < selector.indices_size(); ++i) {
    const int64_t index = FromFront(selector.indices(i), count, count - 1);
    if (index < 0) {
      return OutOfRange(selector.indices(i), count, count - 1,
                        absl::StrCat(field, ".indices[", i, "]"));
    }
    chosen.Add(index);
  }
  for (int i = 0; i < selector.ranges_size(); ++i) {
    const v1::IndexRange& range = selector.ranges(i);
    const std::string path = absl::StrCat(field, ".ranges[", i, "]");
    const int64_t start = FromFront(range.start(), count, count - 1);
    if (start < 0) return OutOfRange(range.start(), count, count - 1, path + ".start");
    const int64_t end = FromFront(range.end(), count, count);
    if (end < 0) return OutOfRange(range.end(), count, count, path + ".end");
    if (start >= end) return EmptyRange(range, path);
    for (int64_t entry = start; entry < end; ++entry) chosen.Add(entry);
  }
  return chosen.Take();
}

}  // namespace heed
