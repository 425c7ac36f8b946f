#include "client/render/dense.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <unordered_map>

#include "absl/strings/str_cat.h"

namespace heed::cli {
namespace {

absl::Status CheckTokens(const AttentionData& data) {
  const auto count = static_cast<uint32_t>(data.header.tokens_size());
  for (const auto* const indices : {&data.header.query_rows(), &data.header.key_columns()}) {
    for (const uint32_t index : *indices) {
      if (index >= count) {
        return absl::InvalidArgumentError(
            absl::StrCat("attention names token ", index, " of ", count));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckAttention(const AttentionData& data) {
  if (data.header.shape_size() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("attention has ", data.header.shape_size(), " dimensions instead of 4"));
  }
  size_t count = 1;
  for (int axis = 0; axis < 4; ++axis) {
    const int64_t size = data.header.shape(axis);
    if (size <= 0) return absl::InvalidArgumentError("attention holds no weights");
    if (static_cast<uint64_t>(size) > std::numeric_limits<size_t>::max() / count) {
      return absl::InvalidArgumentError("the shape of the attention is too large");
    }
    count *= static_cast<size_t>(size);
  }
  if (data.weights.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat("attention has ", data.weights.size(),
                                                   " weights where its shape says ", count));
  }
  const size_t keys = static_cast<size_t>(data.header.key_columns_size());
  const bool lists_fit = (data.dimension(0) == 1 ||
                          data.dimension(0) == static_cast<size_t>(data.header.layers_size())) &&
                         (data.dimension(1) == 1 ||
                          data.dimension(1) == static_cast<size_t>(data.header.heads_size())) &&
                         data.dimension(2) == static_cast<size_t>(data.header.query_rows_size()) &&
                         (data.top_k > 0           ? data.columns.size() == count
                          : HasOneNumberARow(data) ? data.dimension(3) == 1
                                                   : data.dimension(3) == keys);
  if (!lists_fit) {
    return absl::InvalidArgumentError("the shape of the attention does not fit its lists");
  }
  return CheckTokens(data);
}

bool HasOneNumberARow(const AttentionData& data) {
  return data.reduction == v1::ATTENTION_REDUCTION_ENTROPY ||
         data.reduction == v1::ATTENTION_REDUCTION_MEAN_DISTANCE;
}

size_t DenseColumns(const AttentionData& data) {
  return HasOneNumberARow(data) ? 1 : static_cast<size_t>(data.header.key_columns_size());
}

std::vector<float> DenseMatrix(const AttentionData& data, size_t layer, size_t head) {
  const size_t rows = data.dimension(2);
  const size_t kept = data.dimension(3);
  const auto first = data.weights.begin() + static_cast<ptrdiff_t>(data.offset(layer, head, 0, 0));
  if (data.top_k == 0) return {first, first + static_cast<ptrdiff_t>(rows * kept)};
  std::unordered_map<uint32_t, size_t> place;
  for (const uint32_t token : data.header.key_columns()) place.emplace(token, place.size());
  const size_t columns = DenseColumns(data);
  std::vector<float> dense(rows * columns, std::nanf(""));
  for (size_t row = 0; row < rows; ++row) {
    for (size_t k = 0; k < kept; ++k) {
      const size_t at = data.offset(layer, head, row, k);
      const auto found = place.find(data.columns[at]);
      if (found != place.end()) dense[row * columns + found->second] = data.weights[at];
    }
  }
  return dense;
}

std::string LayerName(const AttentionData& data, size_t layer) {
  const bool reduced = data.reduction == v1::ATTENTION_REDUCTION_ROLLOUT ||
                       data.reduction == v1::ATTENTION_REDUCTION_FLOW;
  if (reduced) return "all layers";
  return absl::StrCat("layer ", data.header.layers(static_cast<int>(layer)));
}

std::string HeadName(const AttentionData& data, size_t head) {
  switch (data.reduction) {
    case v1::ATTENTION_REDUCTION_ROLLOUT:
    case v1::ATTENTION_REDUCTION_FLOW:
      return "all heads";
    case v1::ATTENTION_REDUCTION_MEAN_HEADS:
      return "mean of heads";
    default:
      return absl::StrCat("head ", data.header.heads(static_cast<int>(head)));
  }
}

std::vector<std::string> TokenPieces(const v1::AttentionHeader& header,
                                     const google::protobuf::RepeatedField<uint32_t>& indices) {
  std::vector<std::string> pieces;
  pieces.reserve(static_cast<size_t>(indices.size()));
  for (const uint32_t index : indices) {
    pieces.push_back(header.tokens(static_cast<int>(index)).piece());
  }
  return pieces;
}

}  // namespace heed::cli
