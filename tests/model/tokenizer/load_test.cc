// Loading: what is missing or malformed is named; what the file carries for its own use is off.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "model/tokenizer/tokenizer_files.h"
#include "tests/model/tokenizer/test_util.h"

namespace heed {
namespace {

std::string BertJson() { return ReadBytes("tests/golden/bert/tokenizer.json"); }

TEST(LoadTokenizerTest, MissingFileIsNotFound) {
  TempFolder folder;
  const auto tokenizer = LoadHfTokenizer(folder.path(), {});
  EXPECT_EQ(tokenizer.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Reason(tokenizer.status()), "TOKENIZER_NOT_FOUND");
  EXPECT_EQ(GetErrorDetail(tokenizer.status()).metadata.at("path"),
            folder.path() + "/tokenizer.json");
  EXPECT_EQ(tokenizer.status().message().find("convert"), absl::string_view::npos);
}

TEST(LoadTokenizerTest, MissingFileBesideVocabTxtTellsHowToConvert) {
  TempFolder folder;
  folder.Write("vocab.txt", "[PAD]\n");
  const auto tokenizer = LoadHfTokenizer(folder.path(), {});
  EXPECT_EQ(tokenizer.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(tokenizer.status().message().find("vocab.txt is there: convert it"),
            absl::string_view::npos)
      << tokenizer.status();
}

TEST(LoadTokenizerTest, MalformedFilesAreRefused) {
  const std::string whole = BertJson();
  const std::string files[] = {"",
                               "{",
                               "null",
                               "[]",
                               R"({"model": {"type": "Unknown"}})",
                               std::string("\0\xff", 2),
                               std::string(100000, '['),
                               whole.substr(0, whole.size() / 2)};
  for (const auto& bytes : files) {
    SCOPED_TRACE(bytes.substr(0, 40));
    TempFolder folder;
    const std::string path = folder.Write("tokenizer.json", bytes);
    const auto tokenizer = LoadHfTokenizer(folder.path(), {});
    EXPECT_EQ(tokenizer.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(Reason(tokenizer.status()), "TOKENIZER_INVALID");
    EXPECT_NE(tokenizer.status().message().find(path), absl::string_view::npos);
  }
}

// Cut anywhere, a file is refused, and nothing panics.
TEST(LoadTokenizerTest, EveryPrefixIsRefused) {
  std::string whole = BertJson();
  while (!whole.empty() && isspace(static_cast<unsigned char>(whole.back()))) whole.pop_back();
  TempFolder folder;
  for (size_t size = 0; size < whole.size(); size += 97) {
    folder.Write("tokenizer.json", whole.substr(0, size));
    EXPECT_EQ(Reason(LoadHfTokenizer(folder.path(), {}).status()), "TOKENIZER_INVALID") << size;
  }
}

TEST(LoadTokenizerTest, MalformedConfigIsRefused) {
  for (const std::string config :
       {"{", "[]", R"({"truncation_side": "top"})", R"({"truncation_side": 1})"}) {
    SCOPED_TRACE(config);
    TempFolder folder;
    folder.Write("tokenizer.json", BertJson());
    const std::string path = folder.Write("tokenizer_config.json", config);
    const auto status = LoadHfTokenizer(folder.path(), {}).status();
    EXPECT_EQ(Reason(status), "TOKENIZER_INVALID");
    EXPECT_NE(status.message().find(path), absl::string_view::npos) << status;
  }
}

TEST(LoadTokenizerTest, StoredTruncationAndPaddingAreOff) {
  const std::string folder = "tests/golden/tokenizer/byte_level";
  const auto file = ReadJson(folder + "/tokenizer.json");
  ASSERT_EQ(file.at("truncation").at("max_length"), 6);
  ASSERT_EQ(file.at("padding").at("strategy").at("Fixed"), 12);
  const auto tokenizer = Load(folder);
  EXPECT_EQ(tokenizer->Encode("", std::nullopt, {})->input.size(), 2u);
  const auto item = tokenizer->Encode("words without end", std::nullopt, {});
  EXPECT_GT(item->input.size(), 12u);
  EXPECT_FALSE(item->truncated);
}

TEST(LoadTokenizerTest, VocabularyMustFitTheModel) {
  int64_t highest = 0;
  const auto file = ReadJson("tests/golden/bert/tokenizer.json");
  for (const auto& [token, id] : file.at("model").at("vocab").items()) {
    highest = std::max(highest, id.get<int64_t>());
  }
  EXPECT_NE(Load("tests/golden/bert", {.vocab_size = highest + 1}), nullptr);
  const auto status = LoadHfTokenizer("tests/golden/bert", {.vocab_size = highest}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const auto detail = GetErrorDetail(status);
  EXPECT_EQ(detail.reason, "TOKENIZER_VOCAB_MISMATCH");
  EXPECT_EQ(detail.metadata.at("tokenId"), std::to_string(highest));
  EXPECT_EQ(detail.metadata.at("vocabSize"), std::to_string(highest));
}

TEST(LoadTokenizerTest, AddedTokensCountAsVocabulary) {
  auto file = nlohmann::json::parse(BertJson());
  const int64_t size = file.at("model").at("vocab").size();
  auto added = file.at("added_tokens")[0];
  added["id"] = size;
  added["content"] = "[LATE]";
  added["special"] = false;
  file.at("added_tokens").push_back(added);
  TempFolder folder;
  folder.Write("tokenizer.json", file.dump());
  EXPECT_NE(Load(folder.path(), {.vocab_size = size + 1}), nullptr);
  const auto status = LoadHfTokenizer(folder.path(), {.vocab_size = size}).status();
  EXPECT_NE(status.message().find("added token \"[LATE]\""), absl::string_view::npos) << status;
}

// The ids of special tokens stand in the post-processor a second time.
TEST(LoadTokenizerTest, PostProcessorIdsCountAsVocabulary) {
  auto file = nlohmann::json::parse(BertJson());
  file.at("post_processor").at("special_tokens").at("[SEP]").at("ids") = {7777};
  TempFolder folder;
  folder.Write("tokenizer.json", file.dump());
  const auto status = LoadHfTokenizer(folder.path(), {.vocab_size = 7777}).status();
  EXPECT_EQ(GetErrorDetail(status).metadata.at("tokenId"), "7777") << status;
}

// transformers 5.5.4's BertTokenizer lets tokenizer_config.json decide; its generic class does not.
TEST(LoadTokenizerTest, BertsNormalizerFollowsTheTokenizerConfig) {
  nlohmann::json tokenizer = nlohmann::json::parse(BertJson());
  tokenizer["normalizer"] = {{"type", "BertNormalizer"},
                             {"clean_text", true},
                             {"handle_chinese_chars", true},
                             {"strip_accents", nullptr},
                             {"lowercase", true}};
  TempFolder folder;
  folder.Write("tokenizer.json", tokenizer.dump());
  const auto ids = [&](const std::string& config, absl::string_view text) {
    folder.Write("tokenizer_config.json", config);
    return Load(folder.path())->Encode(text, std::nullopt, {})->input.ids;
  };
  const auto lower = ids("{}", "GOOD");
  EXPECT_EQ(lower, ids("{}", "good"));
  EXPECT_EQ(ids(R"({"do_lower_case": true})", "GOOD"), lower);
  EXPECT_NE(ids(R"({"do_lower_case": false})", "GOOD"), lower);
  EXPECT_EQ(ids(R"({"do_lower_case": false})", "good"), lower);
  EXPECT_EQ(
      ids(R"({"do_lower_case": false, "tokenizer_class": "PreTrainedTokenizerFast"})", "GOOD"),
      lower);
  // Accents go with lowercase unless told otherwise; the vocabulary has no letter with one.
  EXPECT_EQ(ids("{}", "g\u00f3od"), lower);
  EXPECT_EQ(ids(R"({"strip_accents": null})", "g\u00f3od"), lower);
  EXPECT_NE(ids(R"({"strip_accents": false})", "g\u00f3od"), lower);
  // Each of two ideographs is a word, or both together are one.
  EXPECT_EQ(ids("{}", "\u4e00\u4e8c").size(), 4u);
  EXPECT_EQ(ids(R"({"tokenize_chinese_chars": false})", "\u4e00\u4e8c").size(), 3u);
  folder.Write("tokenizer_config.json", R"({"do_lower_case": "no"})");
  const auto refused = LoadHfTokenizer(folder.path(), {});
  EXPECT_EQ(Reason(refused.status()), "TOKENIZER_INVALID");
  EXPECT_NE(refused.status().message().find("do_lower_case"), absl::string_view::npos);
}

TEST(ReadModelMaxLengthTest, IsALimitOrNone) {
  TempFolder folder;
  EXPECT_EQ(*ReadModelMaxLength(folder.path()), 0);
  const auto read = [&](const std::string& config) {
    folder.Write("tokenizer_config.json", config);
    return ReadModelMaxLength(folder.path());
  };
  EXPECT_EQ(*read("{}"), 0);
  EXPECT_EQ(*read(R"({"model_max_length": 12})"), 12);
  EXPECT_EQ(*read(R"({"model_max_length": 1000000000000000019884624838656})"), 0);
  for (const char* bad : {"0", "-5", "\"12\""}) {
    const auto length = read(absl::StrCat(R"({"model_max_length": )", bad, "}"));
    EXPECT_EQ(Reason(length.status()), "TOKENIZER_INVALID") << bad;
  }
}

}  // namespace
}  // namespace heed
