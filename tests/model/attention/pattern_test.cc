#include "model/attention/pattern.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/api/error.h"
#include "model/checkpoint/safetensors.h"

namespace heed {
namespace {

using testing::HasSubstr;

std::shared_ptr<const AttentionPattern> Make(const std::string& name,
                                             const PatternOptions& options) {
  const auto pattern = MakeAttentionPattern(name, options);
  EXPECT_TRUE(pattern.ok()) << pattern.status();
  return *pattern;
}

struct Coverage {
  at::Tensor mask;      // [n, n] bool
  int64_t scores = 0;   // computed, hidden ones included
  int64_t largest = 0;  // of one tile
};

// What the tiles of a text let each query see. Every query must come up exactly once.
Coverage Cover(const AttentionPattern& pattern, int64_t n, int64_t max_scores = 1 << 20) {
  Coverage coverage{at::zeros({n, n}, at::kBool)};
  std::vector<int> seen(n, 0);
  const TextShape text{n, n, pattern.DefaultGlobals(n)};
  pattern.ForEachTile(text, max_scores, [&](const PatternTile& tile) {
    const int64_t scores = tile.row_count() * tile.key_count();
    coverage.scores += scores;
    coverage.largest = std::max(coverage.largest, scores);
    for (int64_t row = tile.row_begin; row < tile.row_end; ++row) ++seen[row];
    const at::Tensor keys = tile.keys.empty() ? at::arange(tile.key_begin, tile.key_end, at::kLong)
                                              : at::tensor(tile.keys, at::kLong);
    const at::Tensor visible = tile.visible.defined()
                                   ? tile.visible
                                   : at::ones({tile.row_count(), tile.key_count()}, at::kBool);
    at::Tensor rows = coverage.mask.narrow(0, tile.row_begin, tile.row_count());
    rows.index_copy_(1, keys, visible);
  });
  EXPECT_THAT(seen, testing::Each(1));
  return coverage;
}

at::Tensor Golden(const std::string& name, int64_t n) {
  static const auto* const file =
      new auto(SafetensorsFile::Open("tests/golden/pe/masks.safetensors"));
  const TensorView* const view = (*file)->get()->Find(name);
  if (view == nullptr) throw std::runtime_error("no mask " + name);
  return at::from_blob(const_cast<std::byte*>(view->data.data()), {n, n}, at::kByte).to(at::kBool);
}

void ExpectGolden(const std::string& pattern, const PatternOptions& options,
                  const std::string& golden, int64_t n = 48) {
  SCOPED_TRACE(golden);
  EXPECT_TRUE(Cover(*Make(pattern, options), n).mask.equal(Golden(golden, n)));
  // The same when the budget asks for the smallest tiles.
  EXPECT_TRUE(Cover(*Make(pattern, options), n, 1).mask.equal(Golden(golden, n)));
}

TEST(PatternTest, DenseSeesEverything) {
  EXPECT_TRUE(Cover(*Make("dense", {}), 70).mask.all().item<bool>());
  EXPECT_TRUE(Cover(*Make("dense", {}), 70, 1).mask.all().item<bool>());
}

TEST(PatternTest, SlidingWindowMatchesTheReference) {
  for (const int w : {0, 1, 3, 4, 8, 16}) {
    ExpectGolden("sliding_window", {{"window", std::to_string(w)}},
                 "sliding.w_" + std::to_string(w));
  }
  for (const int both : {6, 8, 16}) {
    ExpectGolden("sliding_window", {{"window", std::to_string(both / 2)}},
                 "modernbert.local_attention_" + std::to_string(both));
  }
  ExpectGolden("sliding_window", {{"window", "5"}}, "extra.sliding", 56);
}

TEST(PatternTest, BlockSparseMatchesTheReference) {
  for (const std::string b : {"4", "8"}) {
    ExpectGolden("block_sparse", {{"block_size", b}, {"global_ends", "1"}}, "block_sparse.b_" + b);
    ExpectGolden("block_sparse", {{"block_size", b}, {"local_blocks", "2"}},
                 "block_local.b_" + b + ".n_2");
  }
  ExpectGolden("block_sparse", {{"block_size", "5"}, {"global_ends", "1"}}, "extra.block_sparse",
               56);
}

// Blocks of one token are the strided pattern with a window.
TEST(PatternTest, BlockSparseWithBlocksOfOneIsStridedGlobal) {
  for (const auto& [w, s] : {std::pair("2", "8"), std::pair("3", "6"), std::pair("4", "16")}) {
    ExpectGolden("block_sparse", {{"block_size", "1"}, {"local_blocks", w}, {"global_stride", s}},
                 std::string("strided_global.w_") + w + ".s_" + s);
  }
}

TEST(PatternTest, LongformerMatchesTheReference) {
  ExpectGolden("longformer", {{"window", "2"}, {"global_tokens", "0"}}, "longformer.w_2.g_1");
  ExpectGolden("longformer", {{"window", "3"}, {"global_tokens", "30,0,7"}}, "longformer.w_3.g_3");
}

TEST(PatternTest, BigBirdIsBlockSparseWithTheFirstBlockCountedAgain) {
  const auto pattern = Make("big_bird", {{"block_size", "4"}, {"random_blocks", "3"}});
  EXPECT_TRUE(Cover(*pattern, 48).mask.equal(Golden("block_sparse.b_4", 48)));
  pattern->ForEachTile({48, 48, {}}, 1 << 20, [](const PatternTile& tile) {
    if (tile.global) return;
    ASSERT_TRUE(tile.bias.defined());
    EXPECT_TRUE(tile.bias.narrow(1, 0, 4).allclose(at::full({1}, std::log(4.F))));
    EXPECT_TRUE(tile.bias.narrow(1, 4, tile.key_count() - 4)
                    .equal(at::zeros({tile.row_count(), tile.key_count() - 4})));
  });
  // Up to 11 blocks are attended to in full.
  EXPECT_TRUE(Cover(*pattern, 44).mask.all().item<bool>());
  EXPECT_FALSE(Cover(*pattern, 45).mask.all().item<bool>());
}

// Cost follows the pattern: scores computed for n tokens stay within a multiple of n.
TEST(PatternTest, SparseCostIsLinear) {
  for (const auto& [name, options] :
       {std::pair<std::string, PatternOptions>("sliding_window", {{"window", "64"}}),
        std::pair<std::string, PatternOptions>("longformer",
                                               {{"window", "64"}, {"global_tokens", "0"}}),
        std::pair<std::string, PatternOptions>("block_sparse", {{"block_size", "64"}}),
        std::pair<std::string, PatternOptions>("big_bird", {{"block_size", "64"}})}) {
    SCOPED_TRACE(name);
    const auto pattern = Make(name, options);
    const auto scores = [&](int64_t n) {
      int64_t sum = 0;
      pattern->ForEachTile({n, n, pattern->DefaultGlobals(n)}, 1 << 20,
                           [&](const PatternTile& t) { sum += t.row_count() * t.key_count(); });
      return static_cast<double>(sum);
    };
    EXPECT_LT(scores(32768) / scores(8192), 4.2);
    EXPECT_LT(scores(32768), 32768.0 * 700);  // dense: 32768 a token
  }
}

TEST(PatternTest, TilesKeepWithinTheBudget) {
  const int64_t budget = 1 << 14;
  EXPECT_LE(Cover(*Make("dense", {}), 512, budget).largest, budget);
  EXPECT_LE(Cover(*Make("sliding_window", {{"window", "100"}}), 512, budget).largest, budget);
  EXPECT_LE(Cover(*Make("block_sparse", {{"block_size", "16"}, {"global_ends", "1"}}), 512, budget)
                .largest,
            budget);
}

TEST(PatternTest, ErrorsNameTheOption) {
  const auto message = [](const std::string& name, const PatternOptions& options) {
    return std::string(MakeAttentionPattern(name, options).status().message());
  };
  EXPECT_THAT(message("sliding_window", {}), HasSubstr("\"window\" (absent)"));
  EXPECT_THAT(message("sliding_window", {{"window", "-1"}}), HasSubstr("\"window\" (-1)"));
  EXPECT_THAT(message("block_sparse", {{"block_size", "0"}}), HasSubstr("\"block_size\" (0)"));
  EXPECT_THAT(message("dense", {{"window", "4"}}), HasSubstr("\"window\""));
  EXPECT_THAT(message("longformer", {{"window", "4"}, {"global_tokens", "0,x"}}),
              HasSubstr("\"global_tokens\" (0,x)"));
  EXPECT_THAT(message("windowed", {}), HasSubstr("sliding_window"));
}

}  // namespace
}  // namespace heed
