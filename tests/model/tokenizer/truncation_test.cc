// Truncation: exactly what Hugging Face's wheel does (recipes/tokenizer.py), and a clear refusal
// where it cannot be done.
#include <gtest/gtest.h>

#include "tests/model/tokenizer/test_util.h"

namespace heed {
namespace {

TruncationStrategy StrategyOf(const std::string& name) {
  if (name == "only_first") return TruncationStrategy::kOnlyFirst;
  if (name == "only_second") return TruncationStrategy::kOnlySecond;
  return TruncationStrategy::kLongestFirst;
}

EncodeOptions Truncate(TruncationStrategy strategy, TruncationSide side) {
  return {.too_long = TooLong::kTruncate, .strategy = strategy, .side = side, .with_tokens = true};
}

TEST(TruncationTest, MatchesHuggingFace) {
  const auto golden = ReadJson("tests/golden/tokenizer/truncation.json");
  size_t truncated = 0;
  size_t refused = 0;
  for (const auto& test_case : golden.at("cases")) {
    SCOPED_TRACE(test_case.dump());
    const auto tokenizer =
        Load("tests/golden/bert", {.max_tokens = test_case.at("limit").get<int64_t>()});
    ASSERT_NE(tokenizer, nullptr);
    const std::string text = test_case.at("text");
    const auto pair = PairOf(test_case);
    const auto side =
        test_case.at("side") == "left" ? TruncationSide::kLeft : TruncationSide::kRight;
    const auto item =
        tokenizer->Encode(text, pair, Truncate(StrategyOf(test_case.at("strategy")), side));
    if (test_case.contains("error")) {
      EXPECT_EQ(Reason(item.status()), "CANNOT_TRUNCATE") << item.status();
      EXPECT_EQ(item.status().code(), absl::StatusCode::kInvalidArgument);
      ++refused;
      continue;
    }
    ASSERT_TRUE(item.ok()) << item.status();
    ExpectSame(*item, test_case.at("result"), {text, std::string(pair.value_or(""))});
    EXPECT_EQ(item->original_token_count, test_case.at("original_count"));
    EXPECT_EQ(item->truncated, test_case.at("original_count") > test_case.at("limit"));
    truncated += item->truncated ? 1 : 0;
  }
  EXPECT_GE(truncated, 50u);
  EXPECT_GE(refused, 20u);
}

TEST(TruncationTest, RefusesByDefaultAndNamesCountAndLimit) {
  const auto tokenizer = Load("tests/golden/bert", {.max_tokens = 5});
  const auto item = tokenizer->Encode("rivers and mountains of the quiet north", std::nullopt, {});
  ASSERT_EQ(item.status().code(), absl::StatusCode::kInvalidArgument);
  const auto detail = GetErrorDetail(item.status());
  EXPECT_EQ(detail.reason, "TOO_MANY_TOKENS");
  EXPECT_EQ(detail.field, "text");
  EXPECT_EQ(detail.metadata.at("tokenCount"), "22");  // truncation.json has it, too
  EXPECT_EQ(detail.metadata.at("limit"), "5");
  EXPECT_NE(item.status().message().find("set the long-text policy to truncate"),
            absl::string_view::npos);
}

TEST(TruncationTest, TextAtTheLimitIsUntouched) {
  const auto tokenizer = Load("tests/golden/bert", {.max_tokens = 22});
  for (const auto policy : {TooLong::kError, TooLong::kTruncate}) {
    const auto item = tokenizer->Encode("rivers and mountains of the quiet north", std::nullopt,
                                        {.too_long = policy});
    ASSERT_TRUE(item.ok()) << item.status();
    EXPECT_FALSE(item->truncated);
    EXPECT_EQ(item->input.size(), 22u);
    EXPECT_EQ(item->original_token_count, 22u);
  }
}

TEST(TruncationTest, LimitBelowTheSpecialTokensIsRefused) {
  const auto tokenizer = Load("tests/golden/bert", {.max_tokens = 2});
  const auto right = Truncate(TruncationStrategy::kLongestFirst, TruncationSide::kRight);
  const auto pair = tokenizer->Encode("one", "two", right);
  EXPECT_EQ(Reason(pair.status()), "CANNOT_TRUNCATE");
  EXPECT_NE(pair.status().message().find("the 3 special tokens"), absl::string_view::npos)
      << pair.status();
  // Room for the special tokens alone is enough: the text loses everything.
  const auto single = tokenizer->Encode("one", std::nullopt, right);
  ASSERT_TRUE(single.ok()) << single.status();
  EXPECT_EQ(single->input.size(), 2u);
  EXPECT_TRUE(single->truncated);
}

TEST(TruncationTest, OnlySecondWithoutASecondTextSaysSo) {
  const auto tokenizer = Load("tests/golden/bert", {.max_tokens = 4});
  const auto item =
      tokenizer->Encode("rivers and mountains", std::nullopt,
                        Truncate(TruncationStrategy::kOnlySecond, TruncationSide::kRight));
  const auto detail = GetErrorDetail(item.status());
  EXPECT_EQ(detail.reason, "CANNOT_TRUNCATE");
  EXPECT_EQ(detail.field, "text");
  EXPECT_EQ(detail.metadata.at("strategy"), "only_second");
  EXPECT_EQ(detail.metadata.at("limit"), "4");
  EXPECT_NE(item.status().message().find("there is none"), absl::string_view::npos);
}

// The cut-off rest must not be combined chunk by chunk: 5,000 x 5,000 chunks would never end.
TEST(TruncationTest, TwoLongTextsCostNoProduct) {
  const auto tokenizer = Load("tests/golden/bert", {.max_tokens = 7});
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "a ";
  const auto item = tokenizer->Encode(
      text, text, Truncate(TruncationStrategy::kLongestFirst, TruncationSide::kRight));
  ASSERT_TRUE(item.ok()) << item.status();
  EXPECT_EQ(item->input.size(), 7u);
  EXPECT_EQ(item->original_token_count, 40003u);
}

TEST(TruncationTest, SideComesFromTokenizerConfig) {
  TempFolder folder;
  folder.Write("tokenizer.json", ReadBytes("tests/golden/bert/tokenizer.json"));
  folder.Write("tokenizer_config.json", R"({"truncation_side": "left"})");
  const auto by_config = Load(folder.path(), {.max_tokens = 4});
  const auto plain = Load("tests/golden/bert", {.max_tokens = 4});
  const std::string text = "rivers and mountains of the quiet north";
  const EncodeOptions truncate = {.too_long = TooLong::kTruncate};
  EncodeOptions left = truncate;
  left.side = TruncationSide::kLeft;
  const auto from_config = by_config->Encode(text, std::nullopt, truncate)->input.ids;
  EXPECT_EQ(from_config, plain->Encode(text, std::nullopt, left)->input.ids);
  EXPECT_NE(from_config, plain->Encode(text, std::nullopt, truncate)->input.ids);
  // The call decides over the file.
  left.side = TruncationSide::kRight;
  EXPECT_EQ(by_config->Encode(text, std::nullopt, left)->input.ids,
            plain->Encode(text, std::nullopt, truncate)->input.ids);
}

}  // namespace
}  // namespace heed
