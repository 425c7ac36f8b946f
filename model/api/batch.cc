#include "model/api/batch.h"

namespace heed {

void RaggedBatch::Append(const TokenIds& text) {
  const size_t before = ids.size();
  const size_t count = text.size();
  ids.insert(ids.end(), text.ids.begin(), text.ids.end());
  segments.insert(segments.end(), text.segments.begin(), text.segments.end());
  if (text.positions.empty()) {
    for (size_t i = 0; i < count; ++i) positions.push_back(static_cast<int64_t>(i));
  } else {
    positions.insert(positions.end(), text.positions.begin(), text.positions.end());
  }
  if (!text.key_mask.empty() || !key_mask.empty()) {
    key_mask.resize(before, 1);  // earlier texts without a mask see all of their tokens
    if (text.key_mask.empty()) {
      key_mask.resize(before + count, 1);
    } else {
      key_mask.insert(key_mask.end(), text.key_mask.begin(), text.key_mask.end());
    }
  }
  cu_seqlens.push_back(static_cast<int64_t>(ids.size()));
}

}  // namespace heed
