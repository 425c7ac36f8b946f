// Blocks of tokens see their neighbouring blocks and a strided set of global blocks: with bi the
// block of token i, query i sees key j where |bi - bj| <= local_blocks, or block bj is global, or
// token j is global; global blocks and tokens see everything.
// Cost O(n · (local + globals)); with every s-th block global that is O(n²/s).
// Source: Child et al., "Sparse Transformers", 2019, arXiv:1904.10509, section 4.2, without its
// causal half and in blocks as its section 5.5 computes it; Zaheer et al., "Big Bird", 2020,
// arXiv:2007.14062, section 2, without random blocks.
// Options:
//   block_size      tokens a block, required
//   local_blocks    neighbouring blocks to each side, default 1
//   global_stride   every s-th block (0, s, 2s, …) is global, default 0: none
//   global_ends     1: the first and the last block are global, default 0
//   global_tokens   places of single global tokens, e.g. "0", default none; a caller may choose
//                   others
// The last block may be shorter than block_size.

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

#include "model/attention/pattern.h"
#include "model/attention/pattern_options.h"
#include "model/attention/patterns/global_rows.h"

namespace heed {
namespace {

// Queries a tile; whole blocks are put together up to it.
constexpr int64_t kTileRows = 64;

struct Settings {
  int64_t block_size = 1;
  int64_t local_blocks = 1;
  int64_t global_stride = 0;
  bool global_ends = false;
  std::vector<int64_t> global_tokens;  // ascending
};

class BlockSparse : public AttentionPattern {
 public:
  explicit BlockSparse(Settings settings) : settings_(std::move(settings)) {}

  void ForEachTile(const TextShape& text, int64_t max_scores,
                   const std::function<void(const PatternTile&)>& visit) const override {
    const std::vector<uint8_t> is_global = Globals(text);
    std::vector<int64_t> globals;
    for (int64_t j = 0; j < text.length; ++j) {
      if (is_global[j] != 0) globals.push_back(j);
    }
    ForEachGlobalTile(is_global, 0, text.length, max_scores, visit);
    const int64_t size = settings_.block_size;
    const int64_t height = std::max<int64_t>(kTileRows / size, 1) * size;
    const int64_t near = settings_.local_blocks * size;
    for (const auto& [first, last] : LocalRuns(is_global, 0, text.length)) {
      const int64_t keys =
          std::min(text.length, height + 2 * near + static_cast<int64_t>(globals.size()));
      const int64_t rows = std::min(height, TileRows(last - first, keys, max_scores));
      for (int64_t row = first; row < last; row += rows) {
        visit(LocalTile(text, row, std::min(row + rows, last), is_global, globals));
      }
    }
  }

  std::vector<int64_t> DefaultGlobals(int64_t length) const override {
    std::vector<int64_t> globals;
    for (const int64_t g : settings_.global_tokens) {
      if (g < length) globals.push_back(g);
    }
    return globals;
  }

  bool accepts_globals() const override { return true; }

 private:
  std::vector<uint8_t> Globals(const TextShape& text) const {
    std::vector<uint8_t> is_global(text.length, 0);
    for (const int64_t g : text.globals) is_global[g] = 1;
    const int64_t last_block = (text.length - 1) / settings_.block_size;
    for (int64_t i = 0; i < text.length; ++i) {
      const int64_t block = i / settings_.block_size;
      const bool strided = settings_.global_stride > 0 && block % settings_.global_stride == 0;
      const bool end = settings_.global_ends && (block == 0 || block == last_block);
      if (strided || end) is_global[i] = 1;
    }
    return is_global;
  }

  PatternTile LocalTile(const TextShape& text, int64_t begin, int64_t end,
                        const std::vector<uint8_t>& is_global,
                        const std::vector<int64_t>& globals) const {
    const int64_t size = settings_.block_size;
    const int64_t local = settings_.local_blocks;
    PatternTile tile;
    tile.row_begin = begin;
    tile.row_end = end;
    const int64_t first = std::max<int64_t>(begin / size - local, 0) * size;
    const int64_t last = std::min(((end - 1) / size + local + 1) * size, text.length);
    tile.keys = WithGlobals(first, last, globals);
    std::vector<uint8_t> key_is_global;
    for (const int64_t j : tile.keys) key_is_global.push_back(is_global[j]);
    const at::Tensor bi = at::arange(begin, end, at::kLong).div_(size, "floor");
    const at::Tensor bj = at::tensor(tile.keys, at::kLong).div_(size, "floor");
    tile.visible = ((bi.unsqueeze(1) - bj.unsqueeze(0)).abs_() <= local)
                       .logical_or(at::tensor(key_is_global, at::kByte).to(at::kBool));
    return tile;
  }

  const Settings settings_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const AttentionPattern>> Make_pattern_block_sparse(
    const PatternOptions& options) {
  constexpr int64_t kMax = int64_t{1} << 30;
  PatternReader reader("block_sparse", options);
  Settings settings;
  settings.block_size = reader.Int("block_size", 1, kMax);
  settings.local_blocks = reader.Int("local_blocks", 1, 0, kMax);
  settings.global_stride = reader.Int("global_stride", 0, 0, kMax);
  settings.global_ends = reader.Int("global_ends", 0, 0, 1) != 0;
  settings.global_tokens = reader.Ints("global_tokens", 0, kMax);
  std::sort(settings.global_tokens.begin(), settings.global_tokens.end());
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return std::make_shared<const BlockSparse>(std::move(settings));
}

}  // namespace heed
