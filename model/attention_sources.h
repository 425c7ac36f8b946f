// The two kinds of AttentionSource: one that has what was recorded, one that computes rows when
// they are read.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "model/api/attention.h"
#include "model/attention/lazy_layer.h"

namespace heed {

// What both are made for: `request` with layers, heads and row_end spelled out.
struct SourceShape {
  CaptureRequest request;
  int64_t length = 0;  // tokens of the text
};

// maps: one a layer of the request, in its form, [heads, rows, keys].
std::shared_ptr<const AttentionSource> MakeEagerSource(SourceShape shape,
                                                       std::vector<at::Tensor> maps);

// layers: one a layer of the request.
std::shared_ptr<const AttentionSource> MakeLazySource(SourceShape shape,
                                                      std::vector<LazyLayer> layers);

}  // namespace heed
