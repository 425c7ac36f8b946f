// What the tokenizer's tests share: golden files, folders of their own, and reading error parts.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "model/api/error.h"
#include "model/tokenizer/hf_tokenizer.h"

namespace heed {

inline std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline nlohmann::json ReadJson(const std::string& path) {
  return nlohmann::json::parse(ReadBytes(path));
}

// A folder that is gone after the test.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "heed_tok_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::string file = path_ + "/" + name;
    std::ofstream(file, std::ios::binary) << bytes;
    return file;
  }

 private:
  std::string path_;
};

inline std::shared_ptr<const Tokenizer> Load(const std::string& folder,
                                             const HfTokenizerOptions& options = {}) {
  auto tokenizer = LoadHfTokenizer(folder, options);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return tokenizer.ok() ? *tokenizer : nullptr;
}

inline std::string Reason(const absl::Status& status) { return GetErrorDetail(status).reason; }

inline std::optional<absl::string_view> PairOf(const nlohmann::json& test_case) {
  const auto& pair = test_case.at("pair");
  if (pair.is_null()) return std::nullopt;
  return pair.get_ref<const std::string&>();
}

// Bytes of the code points [start, end) of `text`, found by walking it.
inline std::string SliceChars(absl::string_view text, size_t start, size_t end) {
  std::string out;
  size_t index = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) ++index;
    if (index >= start && index < end) out += text[i];
  }
  return out;
}

// That `item` is what Hugging Face gave in `expected`: ids, type_ids, tokens, offsets,
// special_tokens_mask. `texts` are the first and second text; byte offsets are checked by slicing.
inline void ExpectSame(const TokenizedItem& item, const nlohmann::json& expected,
                       const std::string (&texts)[2]) {
  EXPECT_EQ(nlohmann::json(item.input.ids), expected.at("ids"));
  EXPECT_EQ(nlohmann::json(item.input.segments), expected.at("type_ids"));
  ASSERT_EQ(item.tokens.size(), expected.at("ids").size());
  for (size_t i = 0; i < item.tokens.size(); ++i) {
    SCOPED_TRACE("token " + std::to_string(i));
    const TokenDetail& token = item.tokens[i];
    EXPECT_EQ(token.id, expected.at("ids")[i]);
    EXPECT_EQ(token.piece, expected.at("tokens")[i]);
    EXPECT_EQ(token.special, expected.at("special_tokens_mask")[i] == 1);
    EXPECT_EQ(token.start_char, expected.at("offsets")[i][0]);
    EXPECT_EQ(token.end_char, expected.at("offsets")[i][1]);
    ASSERT_LT(token.segment, 2u);
    const std::string& text = texts[token.segment];
    ASSERT_LE(token.start_byte, token.end_byte);
    ASSERT_LE(token.end_byte, text.size());
    EXPECT_EQ(text.substr(token.start_byte, token.end_byte - token.start_byte),
              SliceChars(text, token.start_char, token.end_char));
  }
}

}  // namespace heed
