// A token sees its neighbours: query i and key j with |i - j| <= window, both ends included.
// Cost O(n · window).
// Source: Beltagy, Peters and Cohan, "Longformer", 2020, arXiv:2004.05150, section 3.1; the local
// layers of ModernBERT (Warner et al., 2024, arXiv:2412.13663, section 2.1.2).
// Options:
//   window       keys to each side, required. (ModernBERT's local_attention is both sides: half of
//                it is the window.)
// Distance is counted in tokens, whatever positions the caller gives.

#include <ATen/ops/arange.h>

#include <algorithm>

#include "model/attention/pattern.h"
#include "model/attention/pattern_options.h"

namespace heed {
namespace {

constexpr int64_t kMinRows = 32;

class SlidingWindow : public AttentionPattern {
 public:
  explicit SlidingWindow(int64_t window) : window_(window) {}

  void ForEachTile(const TextShape& text, int64_t max_scores,
                   const std::function<void(const PatternTile&)>& visit) const override {
    // As many rows as the window is wide: the tile is then a third empty at worst.
    const int64_t height = std::max(window_, kMinRows);
    const int64_t rows = std::min(
        height, TileRows(text.length, std::min(text.length, height + 2 * window_), max_scores));
    for (int64_t begin = 0; begin < text.length; begin += rows) {
      PatternTile tile;
      tile.row_begin = begin;
      tile.row_end = std::min(begin + rows, text.length);
      tile.key_begin = std::max<int64_t>(begin - window_, 0);
      tile.key_end = std::min(tile.row_end + window_, text.length);
      // Whether the outermost pair of the tile is within the window.
      const int64_t farthest =
          std::max(tile.row_end - 1 - tile.key_begin, tile.key_end - 1 - tile.row_begin);
      if (farthest > window_) {
        const at::Tensor i = at::arange(tile.row_begin, tile.row_end, at::kLong);
        const at::Tensor j = at::arange(tile.key_begin, tile.key_end, at::kLong);
        tile.visible = (i.unsqueeze(1) - j.unsqueeze(0)).abs_() <= window_;
      }
      visit(tile);
    }
  }

 private:
  const int64_t window_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const AttentionPattern>> Make_pattern_sliding_window(
    const PatternOptions& options) {
  PatternReader reader("sliding_window", options);
  const int64_t window = reader.Int("window", 0, int64_t{1} << 30);
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return std::make_shared<const SlidingWindow>(window);
}

}  // namespace heed
