#include "model/tokenizer/hf_tokenizer.h"

#include <array>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "model/api/error.h"
#include "model/api/utf8.h"
#include "model/tokenizer/ffi/heed_tokenizer.h"
#include "model/tokenizer/tokenizer_files.h"

namespace heed {
namespace {

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

struct TokenizerDeleter {
  void operator()(HeedTokenizer* tokenizer) const { heed_tokenizer_free(tokenizer); }
};
struct EncodingDeleter {
  void operator()(HeedEncoding* encoding) const { heed_encoding_free(encoding); }
};
using TokenizerHandle = std::unique_ptr<HeedTokenizer, TokenizerDeleter>;
using EncodingHandle = std::unique_ptr<HeedEncoding, EncodingDeleter>;

absl::string_view StrategyName(TruncationStrategy strategy) {
  switch (strategy) {
    case TruncationStrategy::kOnlyFirst:
      return "only_first";
    case TruncationStrategy::kOnlySecond:
      return "only_second";
    case TruncationStrategy::kLongestFirst:
      break;
  }
  return "longest_first";
}

// The number the C interface gives to `strategy`.
uint8_t StrategyCode(TruncationStrategy strategy) {
  switch (strategy) {
    case TruncationStrategy::kOnlyFirst:
      return 1;
    case TruncationStrategy::kOnlySecond:
      return 2;
    case TruncationStrategy::kLongestFirst:
      break;
  }
  return 0;
}

absl::Status CheckUtf8(absl::string_view text, absl::string_view field) {
  const auto offset = FindInvalidUtf8(text);
  if (!offset) return absl::OkStatus();
  return MakeError(kInvalid, "INVALID_UTF8",
                   absl::StrCat("the text is not valid UTF-8 at byte ", *offset),
                   {{"byteOffset", absl::StrCat(*offset)}}, field);
}

absl::Status TruncationError(int32_t code, const HeedTokenizerError& error, int64_t limit,
                             TruncationStrategy strategy, bool has_pair) {
  const absl::string_view name = StrategyName(strategy);
  std::string why;
  if (code == HEED_TOKENIZER_LIMIT_TOO_SMALL) {
    why = absl::StrCat("the ", error.special_count, " special tokens alone exceed the limit");
  } else if (code == HEED_TOKENIZER_NO_SECOND_TEXT) {
    why = absl::StrCat("strategy ", name, " may shorten only a second text, and there is none");
  } else {
    why = absl::StrCat("strategy ", name, " may shorten only the ",
                       strategy == TruncationStrategy::kOnlySecond ? "second" : "first",
                       " text, which is too short to make the rest fit");
  }
  return MakeError(kInvalid, "CANNOT_TRUNCATE",
                   absl::StrCat("cannot truncate ", error.token_count, " tokens to the limit of ",
                                limit, ": ", why),
                   {{"tokenCount", absl::StrCat(error.token_count)},
                    {"limit", absl::StrCat(limit)},
                    {"strategy", std::string(name)}},
                   has_pair && strategy == TruncationStrategy::kOnlySecond ? "text_pair" : "text");
}

// The error for a `code` other than OK of heed_tokenizer_encode.
absl::Status EncodeError(int32_t code, const HeedTokenizerError& error, int64_t limit,
                         TruncationStrategy strategy, bool has_pair) {
  switch (code) {
    case HEED_TOKENIZER_TOO_MANY_TOKENS:
      return MakeError(
          kInvalid, "TOO_MANY_TOKENS",
          absl::StrCat("the text has ", error.token_count, " tokens; the model takes at most ",
                       limit, ". Shorten it, or set the long-text policy to truncate"),
          {{"tokenCount", absl::StrCat(error.token_count)}, {"limit", absl::StrCat(limit)}},
          "text");
    case HEED_TOKENIZER_LIMIT_TOO_SMALL:
    case HEED_TOKENIZER_NO_SECOND_TEXT:
    case HEED_TOKENIZER_TEXT_TOO_SHORT:
      return TruncationError(code, error, limit, strategy, has_pair);
    default:
      return MakeError(absl::StatusCode::kInternal, "TOKENIZER_FAILED",
                       absl::StrCat("the tokenizer failed (code ", code, "): ", error.message),
                       {{"code", absl::StrCat(code)}, {"detail", error.message}});
  }
}

std::vector<TokenDetail> ReadTokens(const HeedEncodingView& view) {
  std::vector<TokenDetail> tokens(view.size);
  size_t piece_start = 0;
  for (size_t i = 0; i < view.size; ++i) {
    TokenDetail& token = tokens[i];
    token.piece.assign(view.pieces + piece_start, view.piece_ends[i] - piece_start);
    piece_start = view.piece_ends[i];
    token.id = view.ids[i];
    token.start_byte = view.byte_offsets[2 * i];
    token.end_byte = view.byte_offsets[2 * i + 1];
    token.start_char = view.char_offsets[2 * i];
    token.end_char = view.char_offsets[2 * i + 1];
    token.segment = view.segments[i];
    token.special = view.special[i] != 0;
    token.word = view.words[i];
  }
  return tokens;
}

class HfTokenizer : public Tokenizer {
 public:
  HfTokenizer(TokenizerHandle handle, const HfTokenizerOptions& options, TruncationSide side)
      : handle_(std::move(handle)), options_(options), side_(side) {}

  absl::StatusOr<TokenizedItem> Encode(absl::string_view text,
                                       std::optional<absl::string_view> text_pair,
                                       const EncodeOptions& options) const override;

 private:
  absl::Status Check(absl::string_view text, std::optional<absl::string_view> text_pair) const;
  absl::Status CheckResult(const HeedEncodingView& view, bool has_pair) const;

  const TokenizerHandle handle_;
  const HfTokenizerOptions options_;
  const TruncationSide side_;
};

absl::Status HfTokenizer::Check(absl::string_view text,
                                std::optional<absl::string_view> text_pair) const {
  if (const auto status = CheckUtf8(text, "text"); !status.ok()) return status;
  if (!text_pair) return absl::OkStatus();
  if (!options_.accepts_pairs) {
    return MakeError(kInvalid, "PAIR_NOT_SUPPORTED",
                     "the model takes single texts, and a second text was given", {}, "text_pair");
  }
  return CheckUtf8(*text_pair, "text_pair");
}

absl::Status HfTokenizer::CheckResult(const HeedEncodingView& view, bool has_pair) const {
  if (view.size == 0) {
    return MakeError(kInvalid, "NO_TOKENS", "the text has no tokens", {}, "text");
  }
  if (options_.segment_count == 0) return absl::OkStatus();
  for (size_t i = 0; i < view.size; ++i) {
    if (view.type_ids[i] < options_.segment_count) continue;
    return MakeError(absl::StatusCode::kFailedPrecondition, "SEGMENT_OUT_OF_RANGE",
                     absl::StrCat("the tokenizer puts a token into segment ", view.type_ids[i],
                                  ", and the model has ", options_.segment_count, " segments"),
                     {{"segment", absl::StrCat(view.type_ids[i])},
                      {"segmentCount", absl::StrCat(options_.segment_count)}},
                     has_pair ? "text_pair" : "text");
  }
  return absl::OkStatus();
}

absl::StatusOr<TokenizedItem> HfTokenizer::Encode(absl::string_view text,
                                                  std::optional<absl::string_view> text_pair,
                                                  const EncodeOptions& options) const {
  if (const auto status = Check(text, text_pair); !status.ok()) return status;
  const auto strategy = options.strategy.value_or(TruncationStrategy::kLongestFirst);
  HeedEncodeRequest request = {};
  request.text = text.data();
  request.text_size = text.size();
  request.has_pair = text_pair.has_value();
  if (text_pair) {
    request.pair = text_pair->data();
    request.pair_size = text_pair->size();
  }
  request.limit = static_cast<size_t>(options_.max_tokens);
  request.truncate = options.too_long == TooLong::kTruncate;
  request.strategy = StrategyCode(strategy);
  request.truncate_left = options.side.value_or(side_) == TruncationSide::kLeft;
  request.with_tokens = options.with_tokens;

  HeedTokenizerError error = {};
  HeedEncoding* raw = nullptr;
  const int32_t code = heed_tokenizer_encode(handle_.get(), &request, &raw, &error);
  const EncodingHandle encoding(raw);
  if (code != HEED_TOKENIZER_OK) {
    return EncodeError(code, error, options_.max_tokens, strategy, text_pair.has_value());
  }
  HeedEncodingView view = {};
  heed_encoding_view(encoding.get(), &view);
  if (const auto status = CheckResult(view, text_pair.has_value()); !status.ok()) return status;

  TokenizedItem item;
  item.input.ids.assign(view.ids, view.ids + view.size);
  item.input.segments.assign(view.type_ids, view.type_ids + view.size);
  item.original_token_count = view.original_count;
  item.truncated = view.truncated != 0;
  if (view.has_tokens != 0 && options.with_tokens) item.tokens = ReadTokens(view);
  return item;
}

absl::Status CheckVocabulary(const HeedTokenizer* tokenizer, const std::string& path,
                             int64_t vocab_size) {
  HeedHighestId highest = {};
  heed_tokenizer_highest_id(tokenizer, &highest);
  if (vocab_size == 0 || highest.id < vocab_size) return absl::OkStatus();
  const std::string token =
      absl::Utf8SafeCHexEscape(absl::string_view(highest.token, highest.token_size));
  return MakeError(kInvalid, "TOKENIZER_VOCAB_MISMATCH",
                   absl::StrCat(path, ": ", highest.added != 0 ? "added token" : "token", " \"",
                                token, "\" has id ", highest.id, ", but the model's vocab_size is ",
                                vocab_size, ": tokenizer and weights do not belong together"),
                   {{"path", path},
                    {"token", token},
                    {"tokenId", absl::StrCat(highest.id)},
                    {"vocabSize", absl::StrCat(vocab_size)}});
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Tokenizer>> LoadHfTokenizer(
    const std::string& folder, const HfTokenizerOptions& options) {
  auto files = ReadTokenizerFiles(folder);
  if (!files.ok()) return files.status();

  HeedTokenizerError error = {};
  HeedTokenizer* raw = nullptr;
  const int32_t code =
      heed_tokenizer_load(files->tokenizer_json.data(), files->tokenizer_json.size(), &raw, &error);
  TokenizerHandle handle(raw);
  if (code != HEED_TOKENIZER_OK) {
    return MakeError(
        kInvalid, "TOKENIZER_INVALID",
        absl::StrCat(files->tokenizer_path, " is not a usable tokenizer: ", error.message),
        {{"path", files->tokenizer_path}, {"detail", error.message}});
  }
  if (const auto status = CheckVocabulary(handle.get(), files->tokenizer_path, options.vocab_size);
      !status.ok()) {
    return status;
  }
  return std::make_shared<const HfTokenizer>(std::move(handle), options, files->side);
}

}  // namespace heed
