// Numbers to the bytes of a v1::Tensor.
#pragma once

#include <cstddef>

#include "absl/types/span.h"
#include "heed/v1/common.pb.h"

namespace heed {

// Bytes of one value.
size_t TensorValueBytes(v1::TensorType type);

// Fills type, data and scales (not shape) with `values`, rows of `columns` numbers, all at least 0
// for UINT8; see TensorType for what each type does to a value. type: not UNSPECIFIED.
void EncodeTensor(v1::TensorType type, absl::Span<const float> values, size_t columns,
                  v1::Tensor& tensor);

}  // namespace heed
