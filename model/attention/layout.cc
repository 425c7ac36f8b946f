#include "model/attention/layout.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>

namespace heed {
namespace {

at::Tensor View(const std::vector<int64_t>& values, int64_t begin, int64_t count) {
  return at::from_blob(const_cast<int64_t*>(values.data()) + begin, {count},
                       at::TensorOptions(at::kLong));
}

bool AnyHidden(const RaggedBatch& batch, size_t text) {
  if (batch.key_mask.empty()) return false;
  const auto begin = batch.key_mask.begin();
  return std::find(begin + batch.cu_seqlens[text], begin + batch.cu_seqlens[text + 1], 0) !=
         begin + batch.cu_seqlens[text + 1];
}

bool HasGlobals(const RaggedBatch& batch, size_t text) {
  return !batch.has_globals.empty() && batch.has_globals[text] != 0;
}

// Whether text b may join a group that began with text a.
bool Alike(const RaggedBatch& batch, size_t a, size_t b) {
  if (batch.length(a) != batch.length(b) || batch.context_length(a) != batch.context_length(b) ||
      batch.has_positions(a) != batch.has_positions(b) || AnyHidden(batch, b) ||
      HasGlobals(batch, b)) {
    return false;
  }
  const auto begin = batch.positions.begin();
  return std::equal(begin + batch.cu_seqlens[a], begin + batch.cu_seqlens[a + 1],
                    begin + batch.cu_seqlens[b]);
}

TextGroup MakeGroup(const RaggedBatch& batch, size_t first, size_t last) {
  TextGroup group;
  group.first_text = static_cast<int64_t>(first);
  group.text_count = static_cast<int64_t>(last - first);
  group.first_token = batch.cu_seqlens[first];
  group.length = batch.length(first);
  group.context_length = batch.context_length(first);
  const int64_t* const positions = batch.positions.data() + group.first_token;
  group.rule_length = group.context_length;
  group.contiguous = true;
  for (int64_t i = 0; i < group.length; ++i) {
    group.rule_length = std::max(group.rule_length, positions[i] + 1);
    group.contiguous = group.contiguous && positions[i] == positions[0] + i;
  }
  group.positions = View(batch.positions, group.first_token, group.length);
  group.segments = View(batch.segments, group.first_token, group.text_count * group.length)
                       .view({group.text_count, group.length});
  if (AnyHidden(batch, first)) {
    group.key_mask = at::from_blob(const_cast<uint8_t*>(batch.key_mask.data()) + group.first_token,
                                   {group.length}, at::TensorOptions(at::kByte))
                         .to(at::kBool);
  }
  group.has_positions = batch.has_positions(first);
  group.has_globals = HasGlobals(batch, first);
  for (int64_t i = 0; group.has_globals && i < group.length; ++i) {
    if (batch.global_mask[group.first_token + i] != 0) group.globals.push_back(i);
  }
  return group;
}

}  // namespace

AttentionLayout::AttentionLayout(const RaggedBatch& batch) {
  const auto token_count = static_cast<int64_t>(batch.token_count());
  tokens.positions = View(batch.positions, 0, token_count);
  tokens.lengths = at::empty({token_count}, at::TensorOptions(at::kLong));
  if (std::find(batch.positions_disabled.begin(), batch.positions_disabled.end(), 1) !=
      batch.positions_disabled.end()) {
    tokens.disabled = at::empty({token_count}, at::TensorOptions(at::kBool));
    for (size_t text = 0; text < batch.text_count(); ++text) {
      tokens.disabled.narrow(0, batch.cu_seqlens[text], batch.length(text))
          .fill_(!batch.has_positions(text));
    }
  }
  for (size_t first = 0; first < batch.text_count();) {
    size_t last = first + 1;
    if (!AnyHidden(batch, first) && !HasGlobals(batch, first)) {
      while (last < batch.text_count() && Alike(batch, first, last)) ++last;
    }
    groups.push_back(MakeGroup(batch, first, last));
    const TextGroup& group = groups.back();
    tokens.lengths.narrow(0, group.first_token, group.text_count * group.length)
        .fill_(group.rule_length);
    first = last;
  }
}

}  // namespace heed
