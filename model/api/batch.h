// The ragged batch: the one shape in which texts reach a model. Texts stand end to end without
// padding, so that mixed lengths cost what they weigh and no pad token can leak into a result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heed {

// One text (or pair) as the model sees it.
struct TokenIds {
  std::vector<int64_t> ids;        // [n], special tokens included; n >= 1
  std::vector<int64_t> segments;   // [n], 0 for the first text and its special tokens
  std::vector<int64_t> positions;  // [n], or empty: 0..n-1
  std::vector<uint8_t> key_mask;   // [n], 0 hides a token from attention; empty: all are seen
  // [n], 1 gives a token global attention in models that have it (Longformer); empty: the model's
  // own rule.
  std::vector<uint8_t> global_mask;
  // For the few rules that look at how long the input is (dynamic NTK, BigBird's block grid,
  // MobileBERT's trigrams): the width the text stands for, as if padded to it. 0: its own length.
  int64_t context_length = 0;
  // Compute the text as if the model had no positional encoding.
  bool positions_disabled = false;

  size_t size() const { return ids.size(); }
};

// B texts of n_0 … n_{B-1} tokens, T = sum of n_b.
struct RaggedBatch {
  std::vector<int64_t> ids;        // [T]
  std::vector<int64_t> segments;   // [T]
  std::vector<int64_t> positions;  // [T]
  std::vector<int64_t> cu_seqlens{
      0};                            // [B+1]; text b holds tokens cu_seqlens[b] … cu_seqlens[b+1]-1
  std::vector<uint8_t> key_mask;     // [T], or empty: all tokens are seen
  std::vector<uint8_t> global_mask;  // [T], or empty: the model's own rule for every text
  std::vector<uint8_t> has_globals;  // [B], or empty: text b brought a global_mask
  std::vector<int64_t> context_lengths;     // [B], or empty: each text's own length
  std::vector<uint8_t> positions_disabled;  // [B], or empty: every text has its positions

  size_t text_count() const { return cu_seqlens.size() - 1; }
  size_t token_count() const { return ids.size(); }
  int64_t length(size_t b) const { return cu_seqlens[b + 1] - cu_seqlens[b]; }
  int64_t context_length(size_t b) const {
    return context_lengths.empty() ? length(b) : context_lengths[b];
  }

  bool has_positions(size_t b) const {
    return positions_disabled.empty() || positions_disabled[b] == 0;
  }

  // Appends one text. Positions default to 0..n-1, the context length to n.
  void Append(const TokenIds& text);
};

}  // namespace heed
