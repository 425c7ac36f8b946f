// Turns the labels of single tokens into entities: stretches of the text that a caller can mark.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "model/api/tokenizer.h"

namespace heed {

// How tokens are put together, as `aggregation_strategy` of the token-classification pipeline of
// transformers 5.5.4 names it.
enum class EntityAggregation {
  // One entity per token, its label as the model has it ("B-PER").
  kNone,
  // Neighbouring tokens with one tag are one entity. The tag is the label without a prefix "B-" or
  // "I-"; a token of "B-" begins the next entity, a label without a prefix goes on. The entity's
  // label is what follows the first "-" in that of its first token, or all of it.
  kSimple,
  // The same over words, each with the label and score of its first token.
  kFirst,
};

struct EntitySpan {
  std::string label;
  // The mean over the tokens or words put together.
  float score = 0;
  // From the first token's start to the last one's end, as TokenDetail has them.
  uint32_t start_byte = 0;
  uint32_t end_byte = 0;
  uint32_t start_char = 0;
  uint32_t end_char = 0;
  uint32_t segment = 0;
};

// The entities of one text or pair, in the order of its tokens. scores: [tokens, labels] row-major;
// a token has the label of its highest score, the first of equal ones. Special tokens take no part,
// and entities of label "O" are left out, as in transformers. Departures from it: a word is what
// TokenDetail::word says, where transformers guesses from the token's spelling, and an entity ends
// with its segment, where transformers knows no pairs.
std::vector<EntitySpan> FindEntities(absl::Span<const TokenDetail> tokens,
                                     absl::Span<const float> scores,
                                     absl::Span<const std::string> labels,
                                     EntityAggregation aggregation);

}  // namespace heed
