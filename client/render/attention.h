// What `heed attend` shows on a terminal: a heatmap, the pairs that stand out, a line a layer.
#pragma once

#include <string>

#include "client/attention_data.h"
#include "client/render/terminal.h"

namespace heed::cli {

// Weights: the mean over the fetched heads of the last fetched layer as a heatmap as wide as
// Style::columns allows, the largest weights between tokens that are not special, and for each
// layer entropy, distance and the share on special tokens. One number a row: layers × heads, the
// mean over the rows.
std::string RenderAttention(const AttentionData& data, const Style& style);

// "12 film": a token's number and piece, escaped, at most `columns` wide.
std::string TokenLabel(const v1::AttentionHeader& header, uint32_t token, size_t columns);

}  // namespace heed::cli
