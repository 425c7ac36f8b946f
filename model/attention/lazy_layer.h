// Queries and keys of one text and layer, kept so that rows of its attention can be computed when
// somebody reads them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/api/attention.h"
#include "model/attention/tile_scores.h"

namespace heed {

class LazyLayer {
 public:
  LazyLayer() = default;
  // Copies of text `text` (index in the group) of `group`: all of it, or the heads and the rows
  // wanted where no encoding reads content.
  LazyLayer(const AttentionSettings& settings, const TextTensors& group, int64_t text,
            const std::vector<int64_t>& heads, int64_t row_begin, int64_t row_end);

  bool defined() const { return text_.query.defined(); }

  // [heads, rows, keys] in `form`: weights, or with `scores` what they are the softmax of. `heads`
  // are among the kept ones. One thread computes unless the caller sees to more.
  at::Tensor Read(AttentionForm form, const std::vector<int64_t>& heads, int64_t row_begin,
                  int64_t row_end, bool scores) const;

 private:
  AttentionSettings settings_;
  TextTensors text_;
  std::vector<int64_t> kept_heads_;
};

}  // namespace heed
