#include "server/probe_texts.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_model.h"

namespace heed {
namespace {

using testing::ElementsAre;

// [CLS] a bb ccc [SEP] dddd eeeee [SEP]
TokenizedItem PairItem() {
  EncodeOptions options;
  options.with_tokens = true;
  return *FakeTokenizer(0, true).Encode("a bb ccc", "dddd eeeee", options);
}

TEST(ProbeRandomTest, DrawsOfASeedAreTheSameEverywhere) {
  ProbeRandom random(1);
  std::vector<uint64_t> draws;
  for (int i = 0; i < 8; ++i) draws.push_back(random.Below(1000));
  EXPECT_THAT(draws, ElementsAre(528, 462, 930, 246, 384, 409, 628, 665));
  std::vector<int> values(8);
  std::iota(values.begin(), values.end(), 0);
  ProbeRandom(1).Shuffle(values);
  EXPECT_THAT(values, ElementsAre(4, 6, 3, 5, 1, 7, 2, 0));
}

TEST(ProbeRandomTest, BelowOneIsZero) {
  ProbeRandom random(3);
  EXPECT_EQ(random.Below(1), 0U);
}

TEST(ProbeRandomTest, DrawsAreUniform) {
  ProbeRandom random(5);
  std::array<int, 7> counts{};
  constexpr int kDraws = 70000;
  for (int i = 0; i < kDraws; ++i) ++counts[random.Below(7)];
  // Five standard deviations of a binomial are 463.
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 7, 470);
}

// A remainder of 64 random bits would fall into the lower half two times of three.
TEST(ProbeRandomTest, LargeBoundsDoNotFavourSmallValues) {
  ProbeRandom random(5);
  constexpr uint64_t kBound = uint64_t{3} << 62;
  int low = 0;
  constexpr int kDraws = 10000;
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t value = random.Below(kBound);
    ASSERT_LT(value, kBound);
    if (value < kBound / 2) ++low;
  }
  EXPECT_NEAR(low, kDraws / 2, 250);
}

TEST(ProbeRandomTest, ShufflesAreUniform) {
  ProbeRandom random(9);
  std::map<std::vector<int>, int> counts;
  constexpr int kDraws = 24000;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<int> values = {0, 1, 2, 3};
    random.Shuffle(values);
    ++counts[values];
  }
  ASSERT_EQ(counts.size(), 24U);
  for (const auto& [values, count] : counts) EXPECT_NEAR(count, 1000, 160);
}

TEST(ProbeTextsTest, TextTokensAreThoseThatAreNotSpecial) {
  EXPECT_THAT(TextTokens(PairItem().tokens), ElementsAre(1, 2, 3, 5, 6));
}

TEST(ProbeTextsTest, OrdersKeepSpecialTokensAndSegments) {
  const TokenizedItem item = PairItem();
  ProbeRandom random(1);
  std::set<std::vector<int64_t>> seen;
  for (int i = 0; i < 300; ++i) {
    const std::vector<int64_t> order = RandomOrder(item.tokens, random);
    ASSERT_TRUE(std::is_permutation(order.begin(), order.end(),
                                    std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}.begin()));
    EXPECT_EQ(order[0], 0);
    EXPECT_EQ(order[4], 4);
    EXPECT_EQ(order[7], 7);
    for (size_t t = 0; t < order.size(); ++t) {
      EXPECT_EQ(item.tokens[static_cast<size_t>(order[t])].segment, item.tokens[t].segment);
    }
    seen.insert(order);
  }
  EXPECT_EQ(seen.size(), 12U);  // 3! · 2!
}

TEST(ProbeTextsTest, ReorderedMovesIdsAndSegmentsAndNoPositions) {
  TokenIds text;
  text.ids = {10, 11, 12, 13};
  text.segments = {0, 1, 2, 3};
  text.positions = {5, 6, 7, 8};
  const TokenIds result = Reordered(text, {0, 3, 1, 2});
  EXPECT_THAT(result.ids, ElementsAre(10, 13, 11, 12));
  EXPECT_THAT(result.segments, ElementsAre(0, 3, 1, 2));
  EXPECT_THAT(result.positions, ElementsAre(5, 6, 7, 8));
}

class MaskedTest : public testing::Test {
 protected:
  MaskedTest() {
    item_.input.ids.push_back(1);
    for (int64_t i = 0; i < 40; ++i) item_.input.ids.push_back(100 + i);
    item_.input.ids.push_back(2);
    item_.input.segments.assign(42, 0);
    item_.tokens.resize(42);
    item_.tokens.front().special = item_.tokens.back().special = true;
  }
  TokenIds Mask(double fraction, std::optional<int64_t> mask) {
    return Masked(item_.input, item_.tokens, fraction, mask, random_);
  }

  TokenizedItem item_;
  ProbeRandom random_{1};
};

TEST_F(MaskedTest, ReplacesTheFraction) {
  for (const auto& [fraction, count] : std::vector<std::pair<double, int>>{
           {0.25, 10}, {0.5, 20}, {0.26, 10}, {0.27, 11}, {0.999, 40}}) {
    const TokenIds text = Mask(fraction, 7);
    EXPECT_EQ(std::count(text.ids.begin(), text.ids.end(), 7), count) << fraction;
    ASSERT_EQ(text.size(), 42U);
    EXPECT_EQ(text.ids.front(), 1);
    EXPECT_EQ(text.ids.back(), 2);
    for (size_t i = 0; i < text.size(); ++i) {
      EXPECT_TRUE(text.ids[i] == 7 || text.ids[i] == item_.input.ids[i]);
    }
  }
}

TEST_F(MaskedTest, ReplacesAtLeastOneToken) {
  const TokenIds text = Mask(0.001, 7);
  EXPECT_EQ(std::count(text.ids.begin(), text.ids.end(), 7), 1);
}

TEST_F(MaskedTest, EveryTokenHasItsTurn) {
  std::vector<int> counts(42);
  for (int i = 0; i < 4000; ++i) {
    const TokenIds text = Mask(0.25, 7);
    for (size_t t = 0; t < text.size(); ++t) counts[t] += text.ids[t] == 7 ? 1 : 0;
  }
  EXPECT_EQ(counts.front(), 0);
  EXPECT_EQ(counts.back(), 0);
  for (size_t t = 1; t <= 40; ++t) EXPECT_NEAR(counts[t], 1000, 140) << t;
}

TEST_F(MaskedTest, DropsWithoutAMask) {
  TokenIds expected = Mask(0.25, 7);
  std::erase(expected.ids, 7);
  random_ = ProbeRandom(1);
  const TokenIds text = Mask(0.25, std::nullopt);
  EXPECT_EQ(text.ids, expected.ids);
  ASSERT_EQ(text.size(), 32U);
  EXPECT_EQ(text.segments.size(), 32U);
  EXPECT_EQ(text.ids.front(), 1);
  EXPECT_EQ(text.ids.back(), 2);
  EXPECT_TRUE(std::is_sorted(text.ids.begin() + 1, text.ids.end() - 1));
}

TEST_F(MaskedTest, DroppingKeepsSegmentsWithTheirTokens) {
  for (size_t i = 20; i < 42; ++i) item_.input.segments[i] = 1;
  const TokenIds text = Mask(0.5, std::nullopt);
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    EXPECT_EQ(text.segments[i], text.ids[i] >= 119 ? 1 : 0);
  }
}

TEST_F(MaskedTest, ATextOfSpecialTokensStays) {
  for (TokenDetail& token : item_.tokens) token.special = true;
  EXPECT_EQ(Mask(0.5, 7).ids, item_.input.ids);
  EXPECT_EQ(Mask(0.5, std::nullopt).ids, item_.input.ids);
}

// No model takes a text without tokens.
TEST_F(MaskedTest, DroppingLeavesAToken) {
  item_.input.ids.resize(1);
  item_.input.segments.resize(1);
  item_.tokens.assign(1, TokenDetail{});
  EXPECT_EQ(Mask(0.5, std::nullopt).size(), 1U);
}

// Knows one special word, as a tokenizer of its family spells it.
class OneWordTokenizer : public Tokenizer {
 public:
  explicit OneWordTokenizer(std::string word) : word_(std::move(word)) {}

  absl::StatusOr<TokenizedItem> Encode(absl::string_view text, std::optional<absl::string_view>,
                                       const EncodeOptions& options) const override {
    TokenizedItem item;
    item.input.ids = {1, 0, 2};
    item.tokens.resize(3);
    item.tokens[0].piece = "[CLS]";
    item.tokens[1].piece = text == word_ ? word_ : "[UNK]";
    item.tokens[1].id = item.input.ids[1] = text == word_ ? 55 : 0;
    if (!options.with_tokens) item.tokens.clear();
    return item;
  }

 private:
  const std::string word_;
};

class FailingTokenizer : public Tokenizer {
 public:
  absl::StatusOr<TokenizedItem> Encode(absl::string_view, std::optional<absl::string_view>,
                                       const EncodeOptions&) const override {
    return absl::InvalidArgumentError("too long");
  }
};

TEST(FindMaskTokenTest, KnowsTheSpellings) {
  EXPECT_EQ(FindMaskToken(OneWordTokenizer("[MASK]")), 55);
  EXPECT_EQ(FindMaskToken(OneWordTokenizer("<mask>")), 55);
  EXPECT_EQ(FindMaskToken(OneWordTokenizer("<|mask|>")), 55);
  EXPECT_EQ(FindMaskToken(OneWordTokenizer("[mask]")), std::nullopt);
  EXPECT_EQ(FindMaskToken(FailingTokenizer()), std::nullopt);
}

}  // namespace
}  // namespace heed
