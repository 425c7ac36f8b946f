// Every token sees every token.
// Source: Vaswani et al., 2017, arXiv:1706.03762, section 3.2.

#include <algorithm>

#include "model/attention/pattern.h"
#include "model/attention/pattern_options.h"

namespace heed {
namespace {

class Dense : public AttentionPattern {
 public:
  void ForEachTile(const TextShape& text, int64_t max_scores,
                   const std::function<void(const PatternTile&)>& visit) const override {
    const int64_t rows = TileRows(text.length, text.length, max_scores);
    for (int64_t begin = 0; begin < text.length; begin += rows) {
      PatternTile tile;
      tile.row_begin = begin;
      tile.row_end = std::min(begin + rows, text.length);
      tile.key_end = text.length;
      visit(tile);
    }
  }
};

}  // namespace

absl::StatusOr<std::shared_ptr<const AttentionPattern>> Make_pattern_dense(
    const PatternOptions& options) {
  if (absl::Status status = PatternReader("dense", options).Finish(); !status.ok()) return status;
  return std::make_shared<const Dense>();
}

}  // namespace heed
