#include "server/attention_selection.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "model/api/error.h"

namespace heed {
namespace {

absl::Status OutOfRange(const std::string& field, int64_t value, int64_t low, int64_t high) {
  return MakeError(absl::StatusCode::kInvalidArgument, "INDEX_OUT_OF_RANGE",
                   absl::StrCat(value, " is not in ", low, " to ", high),
                   {{"value", absl::StrCat(value)},
                    {"minimum", absl::StrCat(low)},
                    {"maximum", absl::StrCat(high)}},
                   field);
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> Select(const v1::IndexSelector& selector, int64_t count,
                                            const std::string& field) {
  std::vector<int64_t> picked;
  if (selector.indices().empty() && selector.ranges().empty()) {
    picked.resize(static_cast<size_t>(count));
    std::iota(picked.begin(), picked.end(), 0);
    return picked;
  }
  std::vector<bool> seen(static_cast<size_t>(count), false);
  const auto pick = [&](int64_t index) {
    if (!seen[static_cast<size_t>(index)]) picked.push_back(index);
    seen[static_cast<size_t>(index)] = true;
  };
  for (int i = 0; i < selector.indices_size(); ++i) {
    const int64_t index = selector.indices(i);
    if (index < -count || index >= count) {
      return OutOfRange(absl::StrCat(field, ".indices[", i, "]"), index, -count, count - 1);
    }
    pick(index < 0 ? index + count : index);
  }
  for (int i = 0; i < selector.ranges_size(); ++i) {
    const std::string name = absl::StrCat(field, ".ranges[", i, "]");
    int64_t start = selector.ranges(i).start();
    int64_t end = selector.ranges(i).end();
    if (start < -count || start >= count) {
      return OutOfRange(absl::StrCat(name, ".start"), start, -count, count - 1);
    }
    if (end < -count || end > count) {
      return OutOfRange(absl::StrCat(name, ".end"), end, -count, count);
    }
    if (start < 0) start += count;
    if (end < 0) end += count;
    if (start >= end) {
      return MakeError(absl::StatusCode::kInvalidArgument, "EMPTY_RANGE",
                       absl::StrCat("the range from ", start, " to ", end,
                                    " is empty; end is the one after the last"),
                       {{"start", absl::StrCat(start)}, {"end", absl::StrCat(end)}}, name);
    }
    for (int64_t index = start; index < end; ++index) pick(index);
  }
  return picked;
}

}  // namespace heed
