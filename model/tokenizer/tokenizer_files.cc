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

using nlohmann::json;

std::string Dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// tokenizer_config.json of the folder; an empty object where there is none.
absl::StatusOr<json> ReadConfig(const std::string& path) {
  if (!IsFile(path)) return json::object();
  const auto bytes = ReadFile(path);
  if (!bytes) return Invalid(path, "the file cannot be read");
  json config = json::parse(*bytes, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) return Invalid(path, "the file is not a JSON object");
  return config;
}

absl::StatusOr<TruncationSide> ReadSide(const json& config, const std::string& path) {
  const auto side = config.find("truncation_side");
  if (side == config.end() || side->is_null() || *side == "right") return TruncationSide::kRight;
  if (*side == "left") return TruncationSide::kLeft;
  return Invalid(path,
                 absl::StrCat("truncation_side is ", Dump(*side), "; use \"left\" or \"right\""));
}

// transformers builds BERT's normalizer from these keys, whatever tokenizer.json says; the generic
// class takes the file as it is. Changes `tokenizer_json` only where the two differ.
absl::Status ApplyNormalizer(const json& config, const std::string& path,
                             std::string& tokenizer_json) {
  constexpr std::pair<const char*, const char*> kKeys[] = {
      {"do_lower_case", "lowercase"},
      {"strip_accents", "strip_accents"},
      {"tokenize_chinese_chars", "handle_chinese_chars"}};
  if (config.value("tokenizer_class", json()) == "PreTrainedTokenizerFast") {
    return absl::OkStatus();
  }
  json tokenizer = json::parse(tokenizer_json, nullptr, /*allow_exceptions=*/false);
  // What is malformed is for the tokenizer itself to refuse.
  if (!tokenizer.is_object() || !tokenizer.contains("normalizer")) return absl::OkStatus();
  json& normalizer = tokenizer["normalizer"];
  if (!normalizer.is_object() || normalizer.value("type", json()) != "BertNormalizer") {
    return absl::OkStatus();
  }
  bool changed = false;
  for (const auto& [key, field] : kKeys) {
    const auto wanted = config.find(key);
    if (wanted == config.end()) continue;
    if (!wanted->is_boolean() && !wanted->is_null()) {
      return Invalid(path, absl::StrCat(key, " is ", Dump(*wanted), "; use true or false"));
    }
    // Only strip_accents has a meaning for null: as lowercase does.
    if (wanted->is_null() && field != absl::string_view("strip_accents")) continue;
    if (normalizer.value(field, json()) == *wanted) continue;
    normalizer[field] = *wanted;
    changed = true;
  }
  if (changed) tokenizer_json = Dump(tokenizer);
  return absl::OkStatus();
}

std::string ConfigPath(const std::string& folder) {
  return (std::filesystem::path(folder) / "tokenizer_config.json").string();
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
  const std::string config_path = ConfigPath(folder);
  const auto config = ReadConfig(config_path);
  if (!config.ok()) return config.status();
  const auto side = ReadSide(*config, config_path);
  if (!side.ok()) return side.status();
  files.side = *side;
  if (auto status = ApplyNormalizer(*config, config_path, files.tokenizer_json); !status.ok()) {
    return status;
  }
  return files;
}

absl::StatusOr<int64_t> ReadModelMaxLength(const std::string& folder) {
  constexpr double kNoLimit = 1e9;
  const std::string path = ConfigPath(folder);
  const auto config = ReadConfig(path);
  if (!config.ok()) return config.status();
  const auto length = config->find("model_max_length");
  if (length == config->end() || length->is_null()) return 0;
  const double value = length->is_number() ? length->get<double>() : 0;
  if (!(value >= 1)) {
    return Invalid(
        path, absl::StrCat("model_max_length is ", Dump(*length), "; a positive number is wanted"));
  }
  return value >= kNoLimit ? 0 : static_cast<int64_t>(value);
}

}  // namespace heed
