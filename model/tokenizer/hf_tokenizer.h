// Reads the tokenizer of a Hugging Face model folder, so that a text becomes the same ids here as
// where the model was trained.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "model/api/tokenizer.h"

namespace heed {

// What the model allows. The tokenizer file does not know it.
struct HfTokenizerOptions {
  // Tokens a text or pair may have, special tokens included; 0: no limit.
  int64_t max_tokens = 0;
  bool accepts_pairs = true;
  // Rows of the word embedding table: every id of the tokenizer lies below it. 0: not checked.
  int64_t vocab_size = 0;
  // Rows of the segment embedding table: every segment of a text lies below it. 0: the model has no
  // segments, and whatever the tokenizer gives passes.
  int64_t segment_count = 0;
};

// Loads tokenizer.json of `folder`, and of tokenizer_config.json, where there is one, the keys that
// ReadTokenizerFiles names (tokenizer_files.h). Truncation and padding stored in tokenizer.json are
// not used: the limit is max_tokens, and a text never gets pad tokens. BPE dropout is off.
//
// Errors name the file: NOT_FOUND (TOKENIZER_NOT_FOUND) without a tokenizer.json; INVALID_ARGUMENT
// for a malformed file (TOKENIZER_INVALID) or an id at or above vocab_size
// (TOKENIZER_VOCAB_MISMATCH).
//
// Encode of the result is safe from many threads at once and costs time linear in the text. Besides
// the errors of heed::Tokenizer it gives INVALID_ARGUMENT for a text that cannot be truncated far
// enough by the given strategy (CANNOT_TRUNCATE) or that has no tokens at all (NO_TOKENS),
// FAILED_PRECONDITION for a segment at or above segment_count (SEGMENT_OUT_OF_RANGE), and INTERNAL
// for a defect of the tokenizer (TOKENIZER_FAILED).
absl::StatusOr<std::shared_ptr<const Tokenizer>> LoadHfTokenizer(const std::string& folder,
                                                                 const HfTokenizerOptions& options);

}  // namespace heed
