// Attention that no model made, with numbers that can be told apart.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "client/attention_data.h"

namespace heed {

// Whole rows that sum to 1, every weight another, for `tokens` between [CLS] and [SEP]; layers and
// heads are numbered from 0. The tokens stand in a text that joins them by spaces.
AttentionData SyntheticAttention(size_t layers, size_t heads,
                                 const std::vector<std::string>& tokens);

// What the server would make of it, in double precision.
AttentionData SyntheticRollout(const AttentionData& data);
AttentionData SyntheticEntropy(const AttentionData& data);

}  // namespace heed
