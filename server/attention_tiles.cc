#include "server/attention_tiles.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "model/api/error.h"
#include "server/tensor_encoding.h"

namespace heed {
namespace {

constexpr int64_t kMaxWholeLayerFloats = int64_t{4} << 20;

}  // namespace

absl::StatusOr<std::optional<v1::AttentionTile>> AttentionTiles::Next() {
  if (layer_ == plan_.shape[0]) return std::nullopt;
  const int64_t rows = plan_.shape[2];
  // Flow costs up to a second a row: a tile of one row lets a stream be cancelled.
  const int64_t most = plan_.reduction == v1::ATTENTION_REDUCTION_FLOW ? 1 : plan_.rows_per_tile();
  const int64_t last = std::min(rows, row_ + most);
  absl::StatusOr<std::vector<float>> weights = Rows(row_, last);
  if (!weights.ok()) return weights.status();
  v1::AttentionTile tile;
  tile.set_layer(static_cast<uint32_t>(
      plan_.through_layers() ? plan_.layers.back() : plan_.layers[static_cast<size_t>(layer_)]));
  const bool joined = plan_.capture.form == AttentionForm::kMeanHeads;
  tile.set_head(joined ? 0 : static_cast<uint32_t>(plan_.heads[static_cast<size_t>(head_)]));
  tile.set_first_row(static_cast<uint32_t>(row_));
  std::vector<float> values;
  const auto width = static_cast<int64_t>(weights->size()) / (last - row_);
  values.reserve(static_cast<size_t>((last - row_) * plan_.shape[3]));
  for (int64_t row = 0; row < last - row_; ++row) Keep(&(*weights)[row * width], tile, values);
  for (const float value : values) {
    if (std::isfinite(value)) continue;
    return MakeError(absl::StatusCode::kInternal, "NON_FINITE",
                     "an attention weight of this text is not a finite number");
  }
  v1::Tensor& tensor = *tile.mutable_weights();
  EncodeTensor(plan_.type, values, static_cast<size_t>(plan_.shape[3]), tensor);
  tensor.add_shape(last - row_);
  if (!plan_.one_number_a_row()) tensor.add_shape(plan_.shape[3]);
  row_ = last;
  if (row_ == rows) {
    row_ = 0;
    if (++head_ == plan_.shape[1]) {
      head_ = 0;
      ++layer_;
    }
  }
  return tile;
}

absl::StatusOr<std::vector<float>> AttentionTiles::Rows(int64_t first, int64_t last) {
  std::vector<float> weights;
  if (plan_.through_layers()) {
    const std::vector<int64_t> rows(plan_.rows.begin() + first, plan_.rows.begin() + last);
    auto map = plan_.reduction == v1::ATTENTION_REDUCTION_FLOW ? source_->Flow(rows)
                                                               : source_->Rollout(rows);
    if (!map.ok()) return map.status();
    return std::move(map->weights);
  }
  // Runs of neighbouring rows are read at once.
  while (first < last) {
    int64_t end = first + 1;
    while (end < last && plan_.rows[end] == plan_.rows[end - 1] + 1) ++end;
    absl::StatusOr<AttentionMap> map = Read(plan_.rows[first], plan_.rows[end - 1] + 1);
    if (!map.ok()) return map.status();
    if (weights.empty()) {
      weights = std::move(map->weights);
    } else {
      weights.insert(weights.end(), map->weights.begin(), map->weights.end());
    }
    first = end;
  }
  return weights;
}

// Rows first … last-1 of the text, for the current layer and head.
absl::StatusOr<AttentionMap> AttentionTiles::Read(int64_t first, int64_t last) {
  const int64_t layer = plan_.layers[static_cast<size_t>(layer_)];
  if (plan_.capture.form == AttentionForm::kMeanHeads) {
    return source_->Read(layer, {}, first, last);
  }
  const int64_t begin = plan_.capture.row_begin;
  const int64_t rows = plan_.capture.row_end - begin;
  const int64_t width = plan_.one_number_a_row() ? 1 : plan_.token_count;
  if (plan_.capture.eager || plan_.shape[1] == 1 ||
      plan_.shape[1] * rows * width > kMaxWholeLayerFloats) {
    return source_->Read(layer, {plan_.heads[static_cast<size_t>(head_)]}, first, last);
  }
  if (whole_layer_ != layer) {
    absl::StatusOr<AttentionMap> all = source_->Read(layer, plan_.heads, begin, begin + rows);
    if (!all.ok()) return all.status();
    whole_ = *std::move(all);
    whole_layer_ = layer;
  }
  AttentionMap part;
  part.head_count = 1;
  part.row_count = last - first;
  part.key_count = width;
  const auto from = whole_->weights.begin() + (head_ * rows + first - begin) * width;
  part.weights.assign(from, from + (last - first) * width);
  return part;
}

// Appends the selected columns of a row, or the k largest of them.
void AttentionTiles::Keep(const float* row, v1::AttentionTile& tile,
                          std::vector<float>& values) const {
  if (plan_.one_number_a_row()) {
    values.push_back(row[0]);
    return;
  }
  if (plan_.top_k == 0) {
    for (const int64_t column : plan_.columns) values.push_back(row[column]);
    return;
  }
  std::vector<int64_t> order = plan_.columns;
  const auto end = order.begin() + plan_.top_k;
  std::partial_sort(order.begin(), end, order.end(), [row](int64_t a, int64_t b) {
    return row[a] != row[b] ? row[a] > row[b] : a < b;
  });
  for (auto column = order.begin(); column != end; ++column) {
    values.push_back(row[*column]);
    tile.add_columns(static_cast<uint32_t>(*column));
  }
}

}  // namespace heed
