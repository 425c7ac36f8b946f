#include "model/tokenizer/tokenizer_files.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "model/api/error.h"

namespace heed {
namespace {

// Files of tokenizers that transformers can convert to a tokenizer.json.
constexpr const char* kConvertible[] = {"vocab.txt", "vocab.json", "spiece.model",
                                        "sentencepiece.bpe.model", "spm.model"};

bool IsFile(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

std::optional<std::string> ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return std::nullopt;
  return bytes;
}

absl::Status Invalid(const std::string& path, absl::string_view why) {
  return MakeError(absl::StatusCode::kInvalidArgument, "TOKENIZER_INVALID",
                   absl::StrCat(path, ": ", why), {{"path", path}});
}

absl::Status NotFound(const std::filesystem::path& folder, const std::string& path) {
  std::string message = absl::StrCat("there is no file ", path);
  for (const char* name : kConvertible) {
    if (!IsFile(folder / name)) continue;
    absl::StrAppend(&message, "; ", name,
                    " is there: convert it with python3 -c \"from transformers import "
                    "AutoTokenizer as T; T.from_pretrained('",
                    folder.string(), "', use_fast=True).save_pretrained('", folder.string(),
                    "')\"");
    break;
  }
  return MakeError(absl::StatusCode::kNotFound, "TOKENIZER_NOT_FOUND", message, {{"path", path}});
}

absl::StatusOr<TruncationSide> ReadSide(const std::string& path) {
  const auto bytes = ReadFile(path);
  if (!bytes) return Invalid(path, "the file cannot be read");
  const auto json = nlohmann::json::parse(*bytes, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Invalid(path, "the file is not a JSON object");
  const auto side = json.find("truncation_side");
  if (side == json.end() || side->is_null() || *side == "right") return TruncationSide::kRight;
  if (*side == "left") return TruncationSide::kLeft;
  const std::string given = side->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return Invalid(path, absl::StrCat("truncation_side is ", given, "; use \"left\" or \"right\""));
}

}  // namespace

absl::StatusOr<TokenizerFiles> ReadTokenizerFiles(const std::string& folder) {
  const std::filesystem::path root(folder);
  TokenizerFiles files;
  files.tokenizer_path = (root / "tokenizer.json").string();
  if (!IsFile(files.tokenizer_path)) return NotFound(root, files.tokenizer_path);
  auto bytes = ReadFile(files.tokenizer_path);
  if (!bytes) return Invalid(files.tokenizer_path, "the file cannot be read");
  files.tokenizer_json = *std::move(bytes);
  const std::string config_path = (root / "tokenizer_config.json").string();
  if (IsFile(config_path)) {
    const auto side = ReadSide(config_path);
    if (!side.ok()) return side.status();
    files.side = *side;
  }
  return files;
}

}  // namespace heed
