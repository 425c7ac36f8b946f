// What a model folder says about its tokenizer, as plain data: reading files apart from using them.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "model/api/tokenizer.h"

namespace heed {

struct TokenizerFiles {
  std::string tokenizer_path;
  // The file, with the normalizer settings of tokenizer_config.json where BERT's tokenizer class
  // gives those the last word: do_lower_case, strip_accents, tokenize_chinese_chars.
  std::string tokenizer_json;
  // From tokenizer_config.json; right where that file or its key is missing.
  TruncationSide side = TruncationSide::kRight;
};

// Errors: NOT_FOUND (TOKENIZER_NOT_FOUND) without tokenizer.json, INVALID_ARGUMENT
// (TOKENIZER_INVALID) for a malformed tokenizer_config.json; both name the file.
absl::StatusOr<TokenizerFiles> ReadTokenizerFiles(const std::string& folder);

// model_max_length of tokenizer_config.json, in tokens; 0 where there is none, or one so large that
// it means none (transformers writes 10^30). INVALID_ARGUMENT (TOKENIZER_INVALID) if it is no
// positive number.
absl::StatusOr<int64_t> ReadModelMaxLength(const std::string& folder);

}  // namespace heed
