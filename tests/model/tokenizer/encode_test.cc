// Encoding whatever a caller may send: any bytes, any size, from many threads.
#include <gtest/gtest.h>

#include <thread>

#include "model/api/utf8.h"
#include "tests/model/tokenizer/test_util.h"

namespace heed {
namespace {

const char* const kFolders[] = {"tests/golden/bert", "tests/golden/tokenizer/byte_level"};

TEST(EncodeTest, InvalidUtf8IsRefusedAtItsByte) {
  const auto tokenizer = Load("tests/golden/bert");
  const std::pair<std::string, std::string> cases[] = {
      {"\xf0\x80", "0"},         {"ab\xf0\x80 cd", "2"},
      {"caf\xc3\xa9\xff", "5"},  {"\xed\xa0\x80", "0"},  // a surrogate
      {"\xc0\x80", "0"},                                 // NUL, overlong
      {"\xf4\x90\x80\x80", "0"}, {"cut \xe4\xbd", "4"},
  };
  for (const auto& [text, offset] : cases) {
    const auto status = tokenizer->Encode(text, std::nullopt, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    const auto detail = GetErrorDetail(status);
    EXPECT_EQ(detail.reason, "INVALID_UTF8");
    EXPECT_EQ(detail.field, "text");
    EXPECT_EQ(detail.metadata.at("byteOffset"), offset);
    const auto pair = GetErrorDetail(tokenizer->Encode("fine", text, {}).status());
    EXPECT_EQ(pair.reason, "INVALID_UTF8");
    EXPECT_EQ(pair.field, "text_pair");
    EXPECT_EQ(pair.metadata.at("byteOffset"), offset);
  }
}

TEST(EncodeTest, PairNeedsAModelForPairs) {
  const auto tokenizer = Load("tests/golden/bert", {.accepts_pairs = false});
  const auto status = tokenizer->Encode("one", "two", {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Reason(status), "PAIR_NOT_SUPPORTED");
  EXPECT_EQ(GetErrorDetail(status).field, "text_pair");
  EXPECT_TRUE(tokenizer->Encode("one", std::nullopt, {}).ok());
}

TEST(EncodeTest, SegmentsMustFitTheModel) {
  const auto tokenizer = Load("tests/golden/bert", {.segment_count = 1});
  EXPECT_TRUE(tokenizer->Encode("one", std::nullopt, {}).ok());
  const auto status = tokenizer->Encode("one", "two", {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  const auto detail = GetErrorDetail(status);
  EXPECT_EQ(detail.reason, "SEGMENT_OUT_OF_RANGE");
  EXPECT_EQ(detail.metadata.at("segment"), "1");
  EXPECT_EQ(detail.metadata.at("segmentCount"), "1");
  const auto two = Load("tests/golden/bert", {.segment_count = 2});
  EXPECT_TRUE(two->Encode("one", "two", {}).ok());
}

// A segment is where a token's offsets point, which is not the type id: RoBERTa's are all 0.
TEST(EncodeTest, SpecialTokensBelongToTheTextBeforeThem) {
  const auto tokenizer = Load("tests/golden/tokenizer/byte_level");
  const auto item = tokenizer->Encode("one", "two", {.with_tokens = true});
  ASSERT_TRUE(item.ok()) << item.status();
  std::string segments;
  std::string special;
  for (const auto& token : item->tokens) {
    segments += std::to_string(token.segment);
    special += token.special ? '1' : '0';
  }
  EXPECT_EQ(segments, "00001111");  // <s> one </s></s> t w o </s>
  EXPECT_EQ(special, "10110001");
  EXPECT_EQ(item->input.segments, std::vector<int64_t>(8, 0));
}

TEST(EncodeTest, NulDoesNotEndAText) {
  const std::string text("ab\0cd", 5);
  const auto tokenizer = Load("tests/golden/tokenizer/byte_level");
  const auto item = tokenizer->Encode(text, text, {.with_tokens = true});
  ASSERT_TRUE(item.ok()) << item.status();
  std::string read[2];
  for (const auto& token : item->tokens) {
    read[token.segment] += text.substr(token.start_byte, token.end_byte - token.start_byte);
  }
  EXPECT_EQ(read[0], text);
  EXPECT_EQ(read[1], text);
}

TEST(EncodeTest, EmojiInPiecesStayWholeAndValid) {
  const std::string text = "a \U0001f600\U0001f468\u200d\U0001f469 z";
  for (const char* folder : kFolders) {
    SCOPED_TRACE(folder);
    const auto item = Load(folder)->Encode(text, std::nullopt, {.with_tokens = true});
    ASSERT_TRUE(item.ok()) << item.status();
    for (const auto& token : item->tokens) {
      EXPECT_EQ(FindInvalidUtf8(token.piece), std::nullopt);
      const std::string slice = text.substr(token.start_byte, token.end_byte - token.start_byte);
      EXPECT_EQ(FindInvalidUtf8(slice), std::nullopt) << "at byte " << token.start_byte;
    }
  }
}

// Words and offsets (in code points) are those of the tokenizers wheel 0.22.2.
struct WordCase {
  const char* folder;
  std::string texts[2];
  std::vector<int64_t> words;
  std::vector<uint32_t> starts;
  std::vector<uint32_t> ends;
};

TEST(EncodeTest, TokensKnowTheirWordAndPlace) {
  const std::string single = "don't caf\u00e9 \u2014 \u00dcberpr\u00fcfung\U0001f642 [SEP]";
  const std::string first = "na\u00efve \u6771\u4eac";
  const std::string second = "it's \u4eac";
  const WordCase cases[] = {
      {"tests/golden/bert",
       {single, ""},
       {-1, 0, 0, 1, 2, 3, 3, 3, 4, 5, 6, -1},
       {0, 0, 1, 3, 4, 6, 8, 9, 11, 13, 26, 0},
       {0, 1, 3, 4, 5, 8, 9, 10, 12, 25, 31, 0}},
      {"tests/golden/bert",
       {first, second},
       {-1, 0, 0, 0, 0, 0, 1, 2, -1, 0, 0, 1, 2, 3, -1},
       {0, 0, 1, 2, 3, 4, 6, 7, 0, 0, 1, 2, 3, 5, 0},
       {0, 1, 2, 3, 4, 5, 7, 8, 0, 1, 2, 3, 4, 6, 0}},
      {"tests/golden/tokenizer/byte_level",
       {first, second},
       {-1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, -1, -1, 0, 0, 1, 1, 2, 2, 2, 2, -1},
       {0, 0, 1, 2, 2, 3, 4, 6, 6, 6, 6, 7, 7, 7, 0, 0, 0, 1, 2, 3, 5, 5, 5, 5, 0},
       {0, 1, 2, 3, 3, 4, 5, 6, 7, 7, 7, 8, 8, 8, 0, 0, 1, 2, 3, 4, 5, 6, 6, 6, 0}},
      {"tests/golden/t5_encoder",
       {first, second},
       {0, 1, -1, 0, 1, 1, -1},
       {0, 5, 0, 0, 4, 5, 0},
       {5, 8, 0, 4, 5, 6, 0}},
  };
  for (const WordCase& expected : cases) {
    SCOPED_TRACE(std::string(expected.folder) + ": " + expected.texts[0]);
    std::optional<absl::string_view> pair;
    if (!expected.texts[1].empty()) pair = expected.texts[1];
    const auto item = Load(expected.folder)->Encode(expected.texts[0], pair, {.with_tokens = true});
    ASSERT_TRUE(item.ok()) << item.status();
    std::vector<int64_t> words;
    std::vector<uint32_t> starts;
    std::vector<uint32_t> ends;
    for (const TokenDetail& token : item->tokens) {
      words.push_back(token.word);
      starts.push_back(token.start_char);
      ends.push_back(token.end_char);
      const std::string& text = expected.texts[token.segment];
      EXPECT_EQ(text.substr(token.start_byte, token.end_byte - token.start_byte),
                SliceChars(text, token.start_char, token.end_char));
    }
    EXPECT_EQ(words, expected.words);
    EXPECT_EQ(starts, expected.starts);
    EXPECT_EQ(ends, expected.ends);
  }
}

// What is cut off takes its words along, and the others keep their numbers.
TEST(EncodeTest, WordsOutliveTruncation) {
  const auto tokenizer = Load("tests/golden/bert", {.max_tokens = 6});
  EncodeOptions options = {.too_long = TooLong::kTruncate, .with_tokens = true};
  options.side = TruncationSide::kLeft;
  const auto item = tokenizer->Encode("the token na\u00efve", std::nullopt, options);
  ASSERT_TRUE(item.ok()) << item.status();
  std::vector<int64_t> words;
  for (const TokenDetail& token : item->tokens) words.push_back(token.word);
  EXPECT_EQ(words, std::vector<int64_t>({-1, 2, 2, 2, 2, -1}));
}

TEST(EncodeTest, EmptyTextsHaveOnlySpecialTokens) {
  const auto tokenizer = Load("tests/golden/bert");
  EXPECT_EQ(tokenizer->Encode("", std::nullopt, {})->input.size(), 2u);
  EXPECT_EQ(tokenizer->Encode(absl::string_view(), absl::string_view(), {})->input.size(), 3u);
  EXPECT_EQ(tokenizer->Encode("", "two", {.with_tokens = true})->tokens.back().segment, 1u);
}

TEST(EncodeTest, NoTokensAtAllIsRefused) {
  auto file = ReadJson("tests/golden/bert/tokenizer.json");
  file["post_processor"] = nullptr;
  TempFolder folder;
  folder.Write("tokenizer.json", file.dump());
  const auto tokenizer = Load(folder.path());
  EXPECT_EQ(Reason(tokenizer->Encode(" ", std::nullopt, {}).status()), "NO_TOKENS");
  EXPECT_TRUE(tokenizer->Encode("one", std::nullopt, {}).ok());
}

// Dropout in the file must not make one text two.
TEST(EncodeTest, BpeDropoutIsOff) {
  const std::string golden = "tests/golden/tokenizer/byte_level";
  auto file = ReadJson(golden + "/tokenizer.json");
  file.at("model")["dropout"] = 0.9;
  TempFolder folder;
  folder.Write("tokenizer.json", file.dump());
  const std::string text = "the second text is much longer than the first one is";
  const auto expected = Load(golden)->Encode(text, std::nullopt, {})->input.ids;
  const auto tokenizer = Load(folder.path());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(tokenizer->Encode(text, std::nullopt, {})->input.ids, expected);
  }
}

// Quadratic time would take minutes here, and the test has two.
TEST(EncodeTest, LongTextsTakeLinearTime) {
  std::string words;
  while (words.size() < 67337) words += "caf\u00e9 word ";
  const std::string texts[] = {std::string(1 << 20, 'x'), words, std::string(1 << 20, ' ')};
  for (const char* folder : kFolders) {
    const auto whole = Load(folder);
    const auto cut = Load(folder, {.max_tokens = 16});
    for (const auto& text : texts) {
      SCOPED_TRACE(std::string(folder) + ": " + text.substr(0, 8));
      const auto item = whole->Encode(text, std::nullopt, {.with_tokens = true});
      ASSERT_TRUE(item.ok()) << item.status();
      EXPECT_EQ(item->tokens.size(), item->original_token_count);
      const auto short_item =
          cut->Encode(text, text, {.too_long = TooLong::kTruncate, .with_tokens = true});
      ASSERT_TRUE(short_item.ok()) << short_item.status();
      EXPECT_LE(short_item->input.size(), 16u);
      EXPECT_EQ(short_item->truncated, short_item->original_token_count > 16);
    }
  }
}

TEST(EncodeTest, ManyThreadsGetTheSame) {
  for (const char* folder : kFolders) {
    const auto tokenizer = Load(folder, {.max_tokens = 9});
    std::vector<std::string> texts;
    for (int i = 0; i < 40; ++i) {
      texts.push_back("text " + std::to_string(i * 7919) + " of \u00e9t\u00e9 rivers");
    }
    const auto encode = [&](size_t i) {
      // Neighbouring calls differ in limit, side and pair: none may see another's.
      EncodeOptions options = {.too_long = TooLong::kTruncate, .with_tokens = true};
      options.side = i % 2 == 0 ? TruncationSide::kLeft : TruncationSide::kRight;
      std::optional<absl::string_view> pair;
      if (i % 3 == 0) pair = texts[texts.size() - 1 - i];
      std::string out;
      const auto item = tokenizer->Encode(texts[i], pair, options);
      if (!item.ok()) return item.status().ToString();
      for (const auto& token : item->tokens) {
        out += token.piece + "/" + std::to_string(token.id) + "@" +
               std::to_string(token.start_char) + " ";
      }
      return out;
    };
    std::vector<std::string> expected;
    for (size_t i = 0; i < texts.size(); ++i) expected.push_back(encode(i));
    std::vector<int> different(8, 0);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < different.size(); ++t) {
      threads.emplace_back([&, t] {
        for (size_t n = 0; n < 400; ++n) {
          const size_t i = (n * 11 + t) % texts.size();
          if (encode(i) != expected[i]) ++different[t];
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(different, std::vector<int>(8, 0)) << folder;
  }
}

}  // namespace
}  // namespace heed
