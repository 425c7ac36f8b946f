// What a model folder says about its tokenizer, as plain data: reading files apart from using them.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "model/api/tokenizer.h"

namespace heed {

struct TokenizerFiles {
  std::string tokenizer_path;
  std::string tokenizer_json;  // the bytes of the file, unparsed
  // From tokenizer_config.json; right where that file or its key is missing.
  TruncationSide side = TruncationSide::kRight;
};

// Errors: NOT_FOUND (TOKENIZER_NOT_FOUND) without tokenizer.json, INVALID_ARGUMENT
// (TOKENIZER_INVALID) for a malformed tokenizer_config.json; both name the file.
absl::StatusOr<TokenizerFiles> ReadTokenizerFiles(const std::string& folder);

}  // namespace heed
