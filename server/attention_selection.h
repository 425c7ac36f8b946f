// Which layers, heads, rows and columns of an attention map a request means.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "heed/v1/attention.pb.h"

namespace heed {

// So that no request makes the server count for long: each range may name as many entries as there
// are.
inline constexpr int kMaxSelectedIndices = 65536;
inline constexpr int kMaxSelectedRanges = 1024;

// The entries of 0 … count-1 that `selector` means, in its order and each once; an empty selector
// means all. Errors, all INVALID_ARGUMENT with a field below `field` such as "layers.indices[2]":
// INDEX_OUT_OF_RANGE (metadata value, count), EMPTY_RANGE (start, end), TOO_MANY_ENTRIES (count,
// limit).
absl::StatusOr<std::vector<int64_t>> ResolveSelector(const v1::IndexSelector& selector,
                                                     int64_t count, absl::string_view field);

}  // namespace heed
