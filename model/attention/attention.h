// Self-attention over a ragged batch: the only part of a model in which one token sees another.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/attention/layout.h"
#include "model/attention/recorder.h"
#include "model/attention/tile_scores.h"
#include "model/positional/encoding.h"

namespace heed {

// Attention within each text,
//   softmax(scale · q kᵀ + bias + content) v + value term,
// with the terms of the positional encodings, over the keys that the pattern and the key mask
// leave. Source: Vaswani et al., 2017, arXiv:1706.03762, equation 1.
//
// projections: as they come from the linear layers; the encodings transform them here. global: the
// projections of global queries and what they attend to, or nullptr where they have none of their
// own (Longformer has). Returns the context, [T, H, Dv] float32. A query with every key hidden gets
// zeros.
//
// Scores exist only a tile at a time, and a tile's shape depends on its text alone, never on the
// batch. `recorder` (nullptr: none) receives the weights from the same computation: asking for them
// changes no bit of the context.
at::Tensor Attend(QueryKeyValue projections, const QueryKeyValue* global,
                  const AttentionSettings& settings, const AttentionLayout& layout,
                  AttentionRecorder* recorder);

}  // namespace heed
