#include "server/attention_tiles.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/types/span.h"
#include "model/api/error.h"
#include "server/tensor_encoding.h"

namespace heed {
namespace {

// Of the floats one read gives, however few of its columns are kept.
constexpr size_t kReadBytes = size_t{1} << 20;

bool IsWhole(const AttentionPlan& plan) {
  if (plan.columns.size() != plan.token_count) return false;
  return std::is_sorted(plan.columns.begin(), plan.columns.end());
}

// By their bits, which compilers turn into vector instructions, as they may not a sum.
bool AllFinite(absl::Span<const float> row) {
  constexpr uint32_t kExponent = 0x7F800000;
  uint32_t found = 0;
  for (const float value : row) {
    found |= (std::bit_cast<uint32_t>(value) & kExponent) == kExponent ? 1 : 0;
  }
  return found == 0;
}

absl::Status NonFinite() {
  return MakeError(absl::StatusCode::kInternal, "NON_FINITE",
                   "the model's attention for this text is not a finite number");
}

absl::Status BadShape() {
  return MakeError(absl::StatusCode::kInternal, "BAD_MODEL_OUTPUT",
                   "the model did not give the rows of attention that were asked for");
}

}  // namespace

AttentionTiles::AttentionTiles(AttentionPlan plan, std::shared_ptr<const AttentionSource> source)
    : plan_(std::move(plan)),
      source_(std::move(source)),
      every_column_(plan_.one_number_a_row() || IsWhole(plan_)) {}

size_t AttentionTiles::ReadLength(size_t first, size_t count) const {
  const size_t keys = plan_.one_number_a_row() ? 1 : plan_.token_count;
  count = std::min(count, std::max<size_t>(1, kReadBytes / (keys * sizeof(float))));
  if (plan_.joins_layers()) return count;  // takes any list of rows
  size_t length = 1;
  while (length < count &&
         plan_.rows[first + length] == plan_.rows[first] + static_cast<int64_t>(length)) {
    ++length;
  }
  return length;
}

absl::StatusOr<AttentionMap> AttentionTiles::ReadRows(int64_t layer, int64_t head, size_t first,
                                                      size_t count) const {
  const auto begin = plan_.rows.begin() + static_cast<std::ptrdiff_t>(first);
  absl::StatusOr<AttentionMap> map = [&]() -> absl::StatusOr<AttentionMap> {
    if (plan_.joins_layers()) {
      const std::vector<int64_t> rows(begin, begin + static_cast<std::ptrdiff_t>(count));
      return plan_.reduction == v1::ATTENTION_REDUCTION_FLOW ? source_->Flow(rows)
                                                             : source_->Rollout(rows);
    }
    std::vector<int64_t> heads;
    if (!plan_.joins_heads()) heads.push_back(head);
    return source_->Read(layer, heads, *begin, *begin + static_cast<int64_t>(count));
  }();
  if (!map.ok()) return map;
  const size_t keys = plan_.one_number_a_row() ? 1 : plan_.token_count;
  return map->weights.size() == count * keys ? std::move(map) : BadShape();
}

void AttentionTiles::AppendTop(const float* row, v1::AttentionTile& tile) {
  order_.assign(plan_.columns.begin(), plan_.columns.end());
  const auto end = order_.begin() + static_cast<std::ptrdiff_t>(plan_.top_k);
  std::partial_sort(order_.begin(), end, order_.end(), [&](uint32_t a, uint32_t b) {
    return row[a] != row[b] ? row[a] > row[b] : a < b;
  });
  values_.clear();
  for (auto column = order_.begin(); column != end; ++column) values_.push_back(row[*column]);
  tile.mutable_columns()->Add(order_.begin(), end);
  AppendRow(values_, *tile.mutable_weights());
}

absl::Status AttentionTiles::AppendRows(const AttentionMap& map, v1::AttentionTile& tile) {
  const size_t keys = plan_.one_number_a_row() ? 1 : plan_.token_count;
  for (size_t start = 0; start < map.weights.size(); start += keys) {
    const float* const row = map.weights.data() + start;
    if (!AllFinite(absl::MakeConstSpan(row, keys))) return NonFinite();
    if (plan_.top_k > 0) {
      AppendTop(row, tile);
    } else if (every_column_) {
      AppendRow(absl::MakeConstSpan(row, keys), *tile.mutable_weights());
    } else {
      values_.clear();
      for (const int64_t column : plan_.columns) values_.push_back(row[column]);
      AppendRow(values_, *tile.mutable_weights());
    }
  }
  return absl::OkStatus();
}

void AttentionTiles::Advance(size_t rows) {
  row_ += rows;
  if (row_ < plan_.rows.size()) return;
  row_ = 0;
  if (++head_ < static_cast<size_t>(plan_.shape[1])) return;
  head_ = 0;
  ++layer_;
}

absl::StatusOr<std::optional<v1::AttentionTile>> AttentionTiles::Next() {
  if (layer_ == static_cast<size_t>(plan_.shape[0])) return std::nullopt;
  const int64_t layer = plan_.joins_layers() ? plan_.layers.back() : plan_.layers[layer_];
  const int64_t head = plan_.joins_heads() ? 0 : plan_.heads[head_];
  const size_t rows = std::min(plan_.tile_rows, plan_.rows.size() - row_);
  v1::AttentionTile tile;
  tile.set_layer(static_cast<uint32_t>(layer));
  tile.set_head(static_cast<uint32_t>(head));
  tile.set_first_row(static_cast<uint32_t>(row_));
  v1::Tensor& weights = *tile.mutable_weights();
  weights.set_type(plan_.type);
  weights.add_shape(static_cast<int64_t>(rows));
  if (!plan_.one_number_a_row()) weights.add_shape(plan_.shape[3]);
  weights.mutable_data()->reserve(rows * static_cast<size_t>(plan_.shape[3]) *
                                  ElementBytes(plan_.type));
  for (size_t done = 0; done < rows;) {
    const size_t count = ReadLength(row_ + done, rows - done);
    const absl::StatusOr<AttentionMap> map = ReadRows(layer, head, row_ + done, count);
    if (!map.ok()) return map.status();
    const absl::Status appended = AppendRows(*map, tile);
    if (!appended.ok()) return appended;
    done += count;
  }
  Advance(rows);
  return tile;
}

}  // namespace heed
