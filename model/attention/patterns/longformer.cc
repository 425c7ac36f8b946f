// A sliding window plus a few global tokens: query i sees key j where |i - j| <= window or j is
// global; a global query sees every key, with projections of its own where the model has them.
// Cost O(n · (window + globals)).
// Source: Beltagy, Peters and Cohan, "Longformer", 2020, arXiv:2004.05150, section 3.1.
// Options:
//   window          keys to each side, required (half of Longformer's attention_window)
//   global_tokens   places that are global when the caller does not choose, e.g. "0"; default none

#include <ATen/ops/arange.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/isin.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

#include "model/attention/pattern.h"
#include "model/attention/pattern_options.h"
#include "model/attention/patterns/global_rows.h"

namespace heed {
namespace {

constexpr int64_t kMinRows = 32;

class Longformer : public AttentionPattern {
 public:
  Longformer(int64_t window, std::vector<int64_t> globals)
      : window_(window), globals_(std::move(globals)) {
    std::sort(globals_.begin(), globals_.end());
  }

  void ForEachTile(const TextShape& text, int64_t max_scores,
                   const std::function<void(const PatternTile&)>& visit) const override {
    std::vector<uint8_t> is_global(text.length, 0);
    for (const int64_t g : text.globals) is_global[g] = 1;
    ForEachGlobalTile(is_global, 0, text.length, max_scores, visit);
    const int64_t height = std::max(window_, kMinRows);
    for (const auto& [first, last] : LocalRuns(is_global, 0, text.length)) {
      const int64_t keys = std::min<int64_t>(
          text.length, height + 2 * window_ + static_cast<int64_t>(text.globals.size()));
      const int64_t rows = std::min(height, TileRows(last - first, keys, max_scores));
      for (int64_t row = first; row < last; row += rows) {
        visit(LocalTile(text, row, std::min(row + rows, last)));
      }
    }
  }

  std::vector<int64_t> DefaultGlobals(int64_t length) const override {
    std::vector<int64_t> globals;
    for (const int64_t g : globals_) {
      if (g < length) globals.push_back(g);
    }
    return globals;
  }

  bool accepts_globals() const override { return true; }

 private:
  PatternTile LocalTile(const TextShape& text, int64_t begin, int64_t end) const {
    PatternTile tile;
    tile.row_begin = begin;
    tile.row_end = end;
    tile.keys = WithGlobals(std::max<int64_t>(begin - window_, 0),
                            std::min(end + window_, text.length), text.globals);
    const at::Tensor i = at::arange(begin, end, at::kLong);
    const at::Tensor j = at::tensor(tile.keys, at::kLong);
    tile.visible = (i.unsqueeze(1) - j.unsqueeze(0)).abs_() <= window_;
    if (!text.globals.empty()) {
      tile.visible = tile.visible.logical_or(at::isin(j, at::tensor(text.globals, at::kLong)));
    }
    return tile;
  }

  const int64_t window_;
  std::vector<int64_t> globals_;  // ascending
};

}  // namespace

absl::StatusOr<std::shared_ptr<const AttentionPattern>> Make_pattern_longformer(
    const PatternOptions& options) {
  PatternReader reader("longformer", options);
  const int64_t window = reader.Int("window", 0, int64_t{1} << 30);
  std::vector<int64_t> globals = reader.Ints("global_tokens", 0, int64_t{1} << 30);
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return std::make_shared<const Longformer>(window, std::move(globals));
}

}  // namespace heed
