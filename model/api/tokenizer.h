// Text to token ids, as the server sees it. The implementation wraps the `tokenizers` crate; tests
// use a fake.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/api/batch.h"

namespace heed {

// A token and where it stands in the text that was given.
struct TokenDetail {
  std::string piece;  // always valid UTF-8
  int64_t id = 0;
  // Half-open, in the text (segment 0) or the pair's second text (segment 1); 0, 0 for special
  // tokens.
  uint32_t start_byte = 0;
  uint32_t end_byte = 0;
  // The same in Unicode code points.
  uint32_t start_char = 0;
  uint32_t end_char = 0;
  uint32_t segment = 0;
  bool special = false;
  // Which word of its text, from 0, as the tokenizer splits text before it makes tokens; tokens of
  // one word and segment belong together. -1 for special tokens.
  int64_t word = -1;
};

enum class TooLong {
  kError,     // refuse with the token count and the limit
  kTruncate,  // drop tokens by the tokenizer's own strategy and side
};

// Which text of a pair loses tokens, as `transformers` names it.
enum class TruncationStrategy { kLongestFirst, kOnlyFirst, kOnlySecond };
// Which end of a text loses tokens.
enum class TruncationSide { kRight, kLeft };

struct EncodeOptions {
  TooLong too_long = TooLong::kError;
  // Absent: the tokenizer's own (its tokenizer_config.json; longest first, right).
  std::optional<TruncationStrategy> strategy;
  std::optional<TruncationSide> side;
  // Fill TokenizedItem::tokens.
  bool with_tokens = false;
};

struct TokenizedItem {
  TokenIds input;
  // Special tokens included, before truncation.
  size_t original_token_count = 0;
  bool truncated = false;
  // With EncodeOptions::with_tokens: one per id.
  std::vector<TokenDetail> tokens;
};

// Immutable; safe to call from many threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Encodes one text, or a pair. Special tokens are added as the model was trained; text that
  // spells one out ("[SEP]") follows the tokenizer's own rule.
  // Errors, all INVALID_ARGUMENT with field "text" or "text_pair": INVALID_UTF8, TOO_MANY_TOKENS
  // (metadata tokenCount, limit), PAIR_NOT_SUPPORTED.
  virtual absl::StatusOr<TokenizedItem> Encode(absl::string_view text,
                                               std::optional<absl::string_view> text_pair,
                                               const EncodeOptions& options) const = 0;
};

}  // namespace heed
