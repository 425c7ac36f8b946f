// The answers as JSON Lines, for programs that read what `heed` prints.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "client/classify_many.h"
#include "heed/v1/common.pb.h"
#include "heed/v1/model.pb.h"

namespace heed::cli {

// Each returns one JSON object on one line, without the newline. Keys are snake_case, in a fixed
// order; scores are the shortest decimals that give the same float back; times are in seconds.
// Control characters are escaped, also those that JSON would allow.

// {"index", "text"?, "text_pair"?, "labels": [{"label", "label_id", "score"}], "logits"?,
// "tokens"?, "token_importance"?, "usage", "timing", "model", "model_version"}; logits, tokens and
// importance only where the server sent them. Of a model that labels tokens, instead of labels and
// logits: "entities": [{"label", "score", "start_byte", "end_byte", "start_char", "end_char",
// "segment", "text"?}], "token_logits"? (a list a token).
std::string ClassificationJson(const ClassifiedText& text, bool with_text);

std::string ModelJson(const v1::Model& model);

// {"index", "text", "text_pair"?, "tokens": [...], "usage"}.
std::string TokenizedJson(uint64_t index, const v1::TextInput& input,
                          const v1::TokenizedText& result);

// {"service", "status"}.
std::string HealthJson(absl::string_view service, absl::string_view status);

}  // namespace heed::cli
