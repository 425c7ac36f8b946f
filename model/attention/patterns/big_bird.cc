// BigBird's block-sparse attention as transformers evaluates it: a query block sees the first
// block, the last block, itself and its two neighbours; the first and the last block see
// everything. Source: Zaheer et al., "Big Bird", 2020, arXiv:2007.14062, section 2 and appendix D.
// In evaluation every random block of transformers is block 0, so that block 0 enters the softmax
// 1 + random_blocks times; here its scores carry ln(1 + random_blocks) instead, which is the same
// number, and its attention weight is the sum of the copies. A text of at most (5 + 2
// random_blocks) blocks is attended to in full. Options:
//   block_size      tokens a block, required
//   random_blocks   default 3
// The grid of blocks is that of the context length (RaggedBatch::context_lengths).

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "model/attention/pattern.h"
#include "model/attention/pattern_options.h"
#include "model/attention/patterns/global_rows.h"

namespace heed {
namespace {

class BigBird : public AttentionPattern {
 public:
  BigBird(int64_t block_size, int64_t random_blocks)
      : block_size_(block_size), random_blocks_(random_blocks) {}

  void ForEachTile(const TextShape& text, int64_t max_scores,
                   const std::function<void(const PatternTile&)>& visit) const override {
    const int64_t width = std::max(text.length, text.context_length);
    std::vector<uint8_t> is_global(text.length, 1);
    if (width <= (5 + 2 * random_blocks_) * block_size_) {
      ForEachGlobalTile(is_global, 0, text.length, max_scores, visit);
      return;
    }
    const int64_t last_block = (width - 1) / block_size_;
    for (int64_t i = 0; i < text.length; ++i) {
      const int64_t block = i / block_size_;
      is_global[i] = block == 0 || block == last_block;
    }
    ForEachGlobalTile(is_global, 0, text.length, max_scores, visit);
    for (const auto& [first, last] : LocalRuns(is_global, 0, text.length)) {
      for (int64_t row = first; row < last; row += block_size_) {
        visit(LocalTile(text, row / block_size_, last_block));
      }
    }
  }

 private:
  PatternTile LocalTile(const TextShape& text, int64_t block, int64_t last_block) const {
    PatternTile tile;
    tile.row_begin = block * block_size_;
    tile.row_end = std::min(tile.row_begin + block_size_, text.length);
    std::vector<int64_t> ends;
    for (int64_t j = 0; j < block_size_; ++j) ends.push_back(j);
    for (int64_t j = last_block * block_size_; j < text.length; ++j) ends.push_back(j);
    tile.keys = WithGlobals((block - 1) * block_size_,
                            std::min((block + 2) * block_size_, text.length), ends);
    // Random block 0: block_size_ keys at the front carry the weight of their copies.
    tile.bias = at::zeros({tile.row_count(), tile.key_count()}, at::kFloat);
    tile.bias.narrow(1, 0, block_size_).fill_(std::log(1.0 + static_cast<double>(random_blocks_)));
    return tile;
  }

  const int64_t block_size_;
  const int64_t random_blocks_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const AttentionPattern>> Make_pattern_big_bird(
    const PatternOptions& options) {
  PatternReader reader("big_bird", options);
  const int64_t block_size = reader.Int("block_size", 1, int64_t{1} << 30);
  const int64_t random_blocks = reader.Int("random_blocks", 3, 0, int64_t{1} << 20);
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return std::make_shared<const BigBird>(block_size, random_blocks);
}

}  // namespace heed
