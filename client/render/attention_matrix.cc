#include "client/render/attention_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace heed::cli {
namespace {

bool IsSpecial(const v1::AttentionHeader& header, uint32_t token) {
  return header.tokens(static_cast<int>(token)).special();
}

// The token that entry `column` of a row stands for.
uint32_t TokenAt(const AttentionData& data, size_t offset, size_t column) {
  if (data.top_k > 0) return data.columns[offset];
  return data.header.key_columns(static_cast<int>(column));
}

}  // namespace

bool IsOneNumberARow(v1::AttentionReduction reduction) {
  return reduction == v1::ATTENTION_REDUCTION_ENTROPY ||
         reduction == v1::ATTENTION_REDUCTION_MEAN_DISTANCE;
}

AttentionMatrix MeanOverHeads(const AttentionData& data, size_t layer) {
  AttentionMatrix matrix;
  matrix.rows.assign(data.header.query_rows().begin(), data.header.query_rows().end());
  matrix.columns.assign(data.header.key_columns().begin(), data.header.key_columns().end());
  matrix.weights.assign(matrix.rows.size() * matrix.columns.size(), 0.0f);
  std::vector<size_t> place(static_cast<size_t>(data.header.tokens_size()), 0);
  for (size_t i = 0; i < matrix.columns.size(); ++i) place[matrix.columns[i]] = i;
  const float share = 1.0f / static_cast<float>(data.dimension(1));
  for (size_t head = 0; head < data.dimension(1); ++head) {
    for (size_t row = 0; row < data.dimension(2); ++row) {
      for (size_t column = 0; column < data.dimension(3); ++column) {
        const size_t offset = data.offset(layer, head, row, column);
        const size_t at = place[TokenAt(data, offset, column)];
        matrix.weights[row * matrix.columns.size() + at] += share * data.weights[offset];
      }
    }
  }
  return matrix;
}

LayerSummary SummarizeLayer(const AttentionData& data, size_t layer) {
  LayerSummary sum;
  for (size_t head = 0; head < data.dimension(1); ++head) {
    for (size_t row = 0; row < data.dimension(2); ++row) {
      const auto query = static_cast<int64_t>(data.header.query_rows(static_cast<int>(row)));
      for (size_t column = 0; column < data.dimension(3); ++column) {
        const size_t offset = data.offset(layer, head, row, column);
        const auto weight = static_cast<double>(data.weights[offset]);
        if (weight <= 0.0) continue;
        const uint32_t key = TokenAt(data, offset, column);
        sum.entropy -= weight * std::log(weight);
        sum.mean_distance += weight * static_cast<double>(std::abs(query - int64_t{key}));
        if (IsSpecial(data.header, key)) sum.special_share += weight;
      }
    }
  }
  const auto rows = static_cast<double>(data.dimension(1) * data.dimension(2));
  return {sum.entropy / rows, sum.mean_distance / rows, sum.special_share / rows};
}

std::vector<AttendedPair> TopPairs(const AttentionMatrix& matrix, const v1::AttentionHeader& header,
                                   size_t count) {
  const bool all_special = std::all_of(header.tokens().begin(), header.tokens().end(),
                                       [](const v1::Token& token) { return token.special(); });
  std::vector<AttendedPair> pairs;
  for (size_t row = 0; row < matrix.rows.size(); ++row) {
    if (!all_special && IsSpecial(header, matrix.rows[row])) continue;
    for (size_t column = 0; column < matrix.columns.size(); ++column) {
      if (!all_special && IsSpecial(header, matrix.columns[column])) continue;
      const float weight = matrix.at(row, column);
      if (weight > 0.0f) pairs.push_back({matrix.rows[row], matrix.columns[column], weight});
    }
  }
  const auto before = [](const AttendedPair& a, const AttendedPair& b) {
    if (a.weight != b.weight) return a.weight > b.weight;
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  };
  const size_t kept = std::min(count, pairs.size());
  std::partial_sort(pairs.begin(), pairs.begin() + static_cast<ptrdiff_t>(kept), pairs.end(),
                    before);
  pairs.resize(kept);
  return pairs;
}

}  // namespace heed::cli
