// Rows of numbers as the bytes of a heed.v1.Tensor, in the type a client asked for.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "heed/v1/common.pb.h"

namespace heed {

// Of one number. UNSPECIFIED: FLOAT32.
size_t ElementBytes(v1::TensorType type);

// Appends `row`, all of it finite and at least 0, to the data of `tensor`, whose type is set, and
// its scale with UINT8. The sum of a row whose values sum to at most 1 moves by at most 1e-3 in any
// type; see TensorType for how far each value may.
void AppendRow(absl::Span<const float> row, v1::Tensor& tensor);

}  // namespace heed
