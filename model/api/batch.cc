#include "model/api/batch.h"

#include <algorithm>

namespace heed {
namespace {

// Appends an optional per-token mask; texts without one get `fill`.
void AppendMask(const std::vector<uint8_t>& mask, size_t before, size_t count, uint8_t fill,
                std::vector<uint8_t>& all) {
  if (mask.empty() && all.empty()) return;
  all.resize(before, fill);
  if (mask.empty()) {
    all.resize(before + count, fill);
  } else {
    all.insert(all.end(), mask.begin(), mask.end());
  }
}

}  // namespace

void RaggedBatch::Append(const TokenIds& text) {
  const size_t before = ids.size();
  const size_t count = text.size();
  const size_t index = text_count();
  ids.insert(ids.end(), text.ids.begin(), text.ids.end());
  segments.insert(segments.end(), text.segments.begin(), text.segments.end());
  if (text.positions.empty()) {
    for (size_t i = 0; i < count; ++i) positions.push_back(static_cast<int64_t>(i));
  } else {
    positions.insert(positions.end(), text.positions.begin(), text.positions.end());
  }
  AppendMask(text.key_mask, before, count, 1, key_mask);
  AppendMask(text.global_mask, before, count, 0, global_mask);
  if (!text.global_mask.empty() || !has_globals.empty()) {
    has_globals.resize(index, 0);
    has_globals.push_back(text.global_mask.empty() ? 0 : 1);
  }
  if (text.context_length != 0 || !context_lengths.empty()) {
    for (size_t b = context_lengths.size(); b < index; ++b) context_lengths.push_back(length(b));
    context_lengths.push_back(text.context_length == 0 ? static_cast<int64_t>(count)
                                                       : text.context_length);
  }
  if (text.positions_disabled || !positions_disabled.empty()) {
    positions_disabled.resize(index, 0);
    positions_disabled.push_back(text.positions_disabled ? 1 : 0);
  }
  cu_seqlens.push_back(static_cast<int64_t>(ids.size()));
}

}  // namespace heed
