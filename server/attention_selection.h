// What a selector of the contract picks from a number of things.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heed/v1/attention.pb.h"

namespace heed {

// The picked ones of 0 … count-1, in the order given, each once; all of them for an empty selector.
// INVALID_ARGUMENT INDEX_OUT_OF_RANGE or EMPTY_RANGE naming the entry, such as
// "layers.indices[2]" for field "layers".
absl::StatusOr<std::vector<int64_t>> Select(const v1::IndexSelector& selector, int64_t count,
                                            const std::string& field);

}  // namespace heed
