/* The C interface of the Rust crate in this folder, written by hand beside it: the one place where
 * the two languages agree on layouts and codes (src/boundary.rs mirrors it).
 *
 * Text goes in as pointer and size, may hold NUL and must be UTF-8. Functions return a
 * HeedTokenizerCode; no Rust panic and no C++ exception crosses them. A tokenizer never changes
 * after it is loaded: all calls but the two *_free are safe from many threads at once. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct HeedTokenizer HeedTokenizer;
typedef struct HeedEncoding HeedEncoding;

enum HeedTokenizerCode {
  HEED_TOKENIZER_OK = 0,
  HEED_TOKENIZER_BAD_ARGUMENT = 1,    /* a null pointer, an unknown strategy, 4 GiB or more */
  HEED_TOKENIZER_MALFORMED = 2,       /* not a tokenizer.json the crate reads */
  HEED_TOKENIZER_INVALID_UTF8 = 3,    /* a text is not UTF-8 */
  HEED_TOKENIZER_TOO_MANY_TOKENS = 4, /* above the limit, and `truncate` is 0 */
  HEED_TOKENIZER_LIMIT_TOO_SMALL = 5, /* the limit does not even hold the special tokens */
  HEED_TOKENIZER_NO_SECOND_TEXT = 6,  /* only the second text may be cut, and there is none */
  HEED_TOKENIZER_TEXT_TOO_SHORT = 7,  /* the text that may be cut would lose all its tokens */
  HEED_TOKENIZER_ENCODE_FAILED = 8,   /* the crate refused; `message` says why */
  HEED_TOKENIZER_PANICKED = 9         /* a defect inside the crate, caught at the boundary */
};

/* Written only by a call that fails. */
typedef struct HeedTokenizerError {
  size_t token_count;   /* codes 4 to 7: tokens before truncation, special ones included */
  size_t special_count; /* code 5: the special tokens among them */
  char message[512];    /* the crate's words; UTF-8, NUL-terminated; may be empty */
} HeedTokenizerError;

/* `token` is owned by the tokenizer. `added`: not in the model's own vocabulary. */
typedef struct HeedHighestId {
  uint32_t id;
  uint8_t added;
  const char* token;
  size_t token_size;
} HeedHighestId;

typedef struct HeedEncodeRequest {
  const char* text;
  size_t text_size;
  const char* pair; /* read only if has_pair */
  size_t pair_size;
  size_t limit; /* tokens at most, special ones included; 0: none */
  uint8_t has_pair;
  uint8_t truncate;
  uint8_t strategy; /* 0 longest_first, 1 only_first, 2 only_second */
  uint8_t truncate_left;
  uint8_t with_tokens;
} HeedEncodeRequest;

/* Everything is owned by the encoding. Arrays hold `size` entries, offsets two (start, end) each.
 * The last six arrays may be read only if `has_tokens`. */
typedef struct HeedEncodingView {
  size_t size;
  size_t original_count; /* before truncation, special tokens included */
  const uint32_t* ids;
  const uint32_t* type_ids;
  const uint8_t* special;       /* 1: added by the tokenizer, not read from the text */
  const uint32_t* char_offsets; /* code points of the text that `segments` names */
  const uint32_t* byte_offsets; /* the same in bytes */
  const uint32_t* segments;     /* 0 or 1: the text; a special token counts to the one before it */
  const int64_t* words;         /* which word of its text, from 0; -1: none (special tokens) */
  const char* pieces;           /* token strings end to end; UTF-8 */
  const size_t* piece_ends;     /* where in `pieces` each ends */
  uint8_t truncated;
  uint8_t has_tokens;
} HeedEncodingView;

/* Reads a tokenizer.json. Its own truncation and padding are switched off. On OK, `*out` is a
 * tokenizer to be given to heed_tokenizer_free once. `error` may be null. */
int32_t heed_tokenizer_load(const char* json, size_t json_size, HeedTokenizer** out,
                            HeedTokenizerError* error);
void heed_tokenizer_free(HeedTokenizer* tokenizer);

/* The largest id the tokenizer can produce. */
int32_t heed_tokenizer_highest_id(const HeedTokenizer* tokenizer, HeedHighestId* out);

/* Encodes one text or pair with special tokens. On OK, `*out` is to be given to
 * heed_encoding_free once. `error` may be null. */
int32_t heed_tokenizer_encode(const HeedTokenizer* tokenizer, const HeedEncodeRequest* request,
                              HeedEncoding** out, HeedTokenizerError* error);
int32_t heed_encoding_view(const HeedEncoding* encoding, HeedEncodingView* out);
void heed_encoding_free(HeedEncoding* encoding);

#ifdef __cplusplus
}
#endif
