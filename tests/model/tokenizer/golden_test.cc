// Every tokenizer case of the golden checkpoints, against what Hugging Face's wheel gave
// (recipes/tokenizer.py for the byte-level one).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/model/tokenizer/test_util.h"

namespace heed {
namespace {

std::vector<std::string> GoldenFolders() {
  std::vector<std::string> folders = {"tests/golden/tokenizer/byte_level"};
  const char* other = std::getenv("HEED_TEST_GOLDEN_DIR");
  const std::string root = other != nullptr ? other : "tests/golden";
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (std::filesystem::exists(entry.path() / "tokenizer.json") &&
        std::filesystem::exists(entry.path() / "cases.json")) {
      folders.push_back(entry.path().string());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

TEST(GoldenTokenizerTest, EveryCaseIsExact) {
  size_t cases = 0;
  for (const auto& folder : GoldenFolders()) {
    SCOPED_TRACE(folder);
    const auto tokenizer = Load(folder);
    ASSERT_NE(tokenizer, nullptr);
    const auto golden = ReadJson(folder + "/cases.json");
    for (const auto& test_case : golden.at("tokenizer_cases")) {
      SCOPED_TRACE(test_case.dump());
      const std::string text = test_case.at("text");
      const auto pair = PairOf(test_case);
      const auto item = tokenizer->Encode(text, pair, {.with_tokens = true});
      ASSERT_TRUE(item.ok()) << item.status();
      ExpectSame(*item, test_case, {text, std::string(pair.value_or(""))});
      EXPECT_EQ(item->original_token_count, item->input.size());
      EXPECT_FALSE(item->truncated);
      ++cases;
    }
  }
  EXPECT_GE(cases, 150u);
}

// What is not asked for must not change what is.
TEST(GoldenTokenizerTest, IdsAreTheSameWithoutTokens) {
  const auto tokenizer = Load("tests/golden/bert");
  ASSERT_NE(tokenizer, nullptr);
  const auto golden = ReadJson("tests/golden/bert/cases.json");
  for (const auto& test_case : golden.at("tokenizer_cases")) {
    const auto item =
        tokenizer->Encode(test_case.at("text").get<std::string>(), PairOf(test_case), {});
    ASSERT_TRUE(item.ok()) << item.status();
    EXPECT_EQ(nlohmann::json(item->input.ids), test_case.at("ids"));
    EXPECT_EQ(nlohmann::json(item->input.segments), test_case.at("type_ids"));
    EXPECT_TRUE(item->tokens.empty());
  }
}

}  // namespace
}  // namespace heed
