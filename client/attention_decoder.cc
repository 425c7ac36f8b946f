#include "client/attention_decoder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace heed {
namespace {

absl::Status BadAnswer(absl::string_view what) {
  return absl::InternalError(absl::StrCat("the server's attention does not fit together: ", what));
}

bool IsMatrixReduction(v1::AttentionReduction reduction) {
  return reduction == v1::ATTENTION_REDUCTION_ROLLOUT || reduction == v1::ATTENTION_REDUCTION_FLOW;
}

bool IsRowReduction(v1::AttentionReduction reduction) {
  return reduction == v1::ATTENTION_REDUCTION_ENTROPY ||
         reduction == v1::ATTENTION_REDUCTION_MEAN_DISTANCE;
}

// 0 for a type that this client does not know.
size_t BytesOf(v1::TensorType type) {
  switch (type) {
    case v1::TENSOR_TYPE_UNSPECIFIED:
    case v1::TENSOR_TYPE_FLOAT32:
      return 4;
    case v1::TENSOR_TYPE_FLOAT16:
      return 2;
    case v1::TENSOR_TYPE_UINT8:
      return 1;
    default:
      return 0;
  }
}

v1::TensorType Named(v1::TensorType type) {
  return type == v1::TENSOR_TYPE_UNSPECIFIED ? v1::TENSOR_TYPE_FLOAT32 : type;
}

template <typename Int>
Int LittleEndian(const char* bytes) {
  Int value = 0;
  for (size_t i = 0; i < sizeof(Int); ++i) {
    value |= static_cast<Int>(static_cast<Int>(static_cast<unsigned char>(bytes[i])) << (8 * i));
  }
  return value;
}

// Writes tensor.data(), whose length is checked, to `out`.
void Decode(const v1::Tensor& tensor, size_t count, size_t row_values, float* out) {
  const char* const bytes = tensor.data().data();
  switch (Named(tensor.type())) {
    case v1::TENSOR_TYPE_FLOAT16:
      for (size_t i = 0; i < count; ++i) {
        out[i] = HalfToFloat(LittleEndian<uint16_t>(bytes + 2 * i));
      }
      break;
    case v1::TENSOR_TYPE_UINT8:
      for (size_t i = 0; i < count; ++i) {
        out[i] = tensor.scales(static_cast<int>(i / row_values)) *
                 static_cast<float>(static_cast<unsigned char>(bytes[i]));
      }
      break;
    default:
      for (size_t i = 0; i < count; ++i) {
        out[i] = absl::bit_cast<float>(LittleEndian<uint32_t>(bytes + 4 * i));
      }
  }
}

// How many values `tensor` has, after holding its data and scales against its shape.
absl::StatusOr<size_t> CheckedCount(const v1::Tensor& tensor, size_t row_values) {
  const size_t width = BytesOf(tensor.type());
  if (width == 0) {
    return BadAnswer(absl::StrCat("number type ", static_cast<int>(tensor.type()), " is unknown"));
  }
  const size_t count = tensor.data().size() / width;
  // Divides instead of multiplying, which could overflow.
  size_t left = count;
  bool fits = tensor.data().size() % width == 0;
  for (const int64_t dimension : tensor.shape()) {
    fits = fits && dimension > 0 && left % static_cast<uint64_t>(dimension) == 0;
    if (fits) left /= static_cast<size_t>(dimension);
  }
  if (!fits || left != 1 || row_values == 0 || count % row_values != 0) {
    return BadAnswer(absl::StrCat(tensor.data().size(), " bytes are no [",
                                  absl::StrJoin(tensor.shape(), ", "), "] of ", width,
                                  " bytes each"));
  }
  if (tensor.type() == v1::TENSOR_TYPE_UINT8 &&
      static_cast<size_t>(tensor.scales_size()) != count / row_values) {
    return BadAnswer(
        absl::StrCat(tensor.scales_size(), " scales for ", count / row_values, " rows of uint8"));
  }
  return count;
}

}  // namespace

float HalfToFloat(uint16_t bits) {
  const bool negative = (bits & 0x8000u) != 0;
  const int exponent = (bits >> 10) & 0x1F;
  const auto fraction = static_cast<float>(bits & 0x3FFu);
  float value = 0.0f;
  if (exponent == 0x1F) {
    value = fraction == 0.0f ? HUGE_VALF : NAN;
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(1024.0f + fraction, exponent - 25);
  }
  return negative ? -value : value;
}

absl::StatusOr<std::vector<float>> DecodeTensor(const v1::Tensor& tensor, size_t row_values) {
  const absl::StatusOr<size_t> count = CheckedCount(tensor, row_values);
  if (!count.ok()) return count.status();
  std::vector<float> values(*count);
  Decode(tensor, *count, row_values, values.data());
  return values;
}

AttentionDecoder::AttentionDecoder(v1::AttentionReduction reduction, uint32_t top_k,
                                   uint64_t max_bytes)
    : max_bytes_(max_bytes) {
  data_.reduction = reduction;
  data_.top_k = top_k;
}

absl::Status AttentionDecoder::Add(const v1::GetAttentionResponse& part) {
  if (part.has_header()) return AddHeader(part.header());
  if (!started_) return BadAnswer("the first message is no header");
  if (!part.has_tile()) return BadAnswer("a message is neither header nor tile");
  return AddTile(part.tile());
}

absl::Status AttentionDecoder::AddHeader(const v1::AttentionHeader& header) {
  if (started_) return BadAnswer("a second header came");
  started_ = true;
  data_.header = header;
  if (absl::Status status = CheckShape(); !status.ok()) return status;
  const size_t layers = data_.dimension(0), heads = data_.dimension(1);
  const int last_layer = header.layers_size() - 1;
  for (int i = 0; i <= last_layer && !IsMatrixReduction(data_.reduction); ++i) {
    layer_places_[header.layers(i)] = static_cast<size_t>(i);
  }
  if (IsMatrixReduction(data_.reduction)) layer_places_[header.layers(last_layer)] = 0;
  const bool own_heads =
      !IsMatrixReduction(data_.reduction) && data_.reduction != v1::ATTENTION_REDUCTION_MEAN_HEADS;
  for (int i = 0; i < header.heads_size() && own_heads; ++i) {
    head_places_[header.heads(i)] = static_cast<size_t>(i);
  }
  if (!own_heads) head_places_[0] = 0;
  if (layer_places_.size() != layers || head_places_.size() != heads) {
    return BadAnswer("a layer or a head is listed twice");
  }
  const size_t rows = layers * heads * data_.dimension(2);
  row_came_.assign(rows, false);
  is_key_.assign(static_cast<size_t>(header.tokens_size()), false);
  for (const uint32_t token : header.key_columns()) is_key_[token] = true;
  data_.weights.assign(rows * data_.dimension(3), 0.0f);
  if (data_.top_k > 0) data_.columns.assign(data_.weights.size(), 0);
  return absl::OkStatus();
}

// Holds the header's lists, shape and byte count against each other and what was asked for.
absl::Status AttentionDecoder::CheckShape() const {
  const v1::AttentionHeader& header = data_.header;
  const bool matrix = IsMatrixReduction(data_.reduction);
  const bool one_head = matrix || data_.reduction == v1::ATTENTION_REDUCTION_MEAN_HEADS;
  const int64_t columns = header.shape_size() == 4 ? header.shape(3) : 0;
  const int64_t most_columns = IsRowReduction(data_.reduction) ? 1 : header.key_columns_size();
  // A row may be shorter than k, but not longer.
  const bool columns_fit = data_.top_k > 0 && !IsRowReduction(data_.reduction)
                               ? columns <= std::min<int64_t>(data_.top_k, most_columns)
                               : columns == most_columns;
  if (header.shape_size() != 4 || header.layers().empty() || header.heads().empty() ||
      header.query_rows().empty() || header.shape(0) != (matrix ? 1 : header.layers_size()) ||
      header.shape(1) != (one_head ? 1 : header.heads_size()) ||
      header.shape(2) != header.query_rows_size() || columns < 1 || !columns_fit) {
    return BadAnswer(absl::StrCat("shape [", absl::StrJoin(header.shape(), ", "), "] for ",
                                  header.layers_size(), " layers, ", header.heads_size(),
                                  " heads, ", header.query_rows_size(), " rows and ",
                                  header.key_columns_size(), " columns"));
  }
  for (const auto* tokens : {&header.query_rows(), &header.key_columns()}) {
    for (const uint32_t token : *tokens) {
      if (token < static_cast<uint32_t>(header.tokens_size())) continue;
      return BadAnswer(absl::StrCat("token ", token, " of ", header.tokens_size()));
    }
  }
  const size_t width = BytesOf(header.type());
  const double values = static_cast<double>(header.shape(0)) *
                        static_cast<double>(header.shape(1)) *
                        static_cast<double>(header.shape(2)) * static_cast<double>(columns);
  const double memory = values * (data_.top_k > 0 ? 8.0 : 4.0);
  if (memory > static_cast<double>(max_bytes_)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the attention takes ", static_cast<uint64_t>(memory), " bytes of memory, the limit is ",
        max_bytes_, ": ask for fewer layers, heads or rows, or for a reduction"));
  }
  if (width == 0 || static_cast<double>(header.total_bytes()) != values * double(width)) {
    return BadAnswer(absl::StrCat(header.total_bytes(), " bytes announced for [",
                                  absl::StrJoin(header.shape(), ", "), "] of ", width,
                                  " bytes each"));
  }
  return absl::OkStatus();
}

absl::Status AttentionDecoder::AddTile(const v1::AttentionTile& tile) {
  const auto layer = layer_places_.find(tile.layer());
  const auto head = head_places_.find(tile.head());
  if (layer == layer_places_.end() || head == head_places_.end()) {
    return BadAnswer(absl::StrCat("a tile of layer ", tile.layer(), " and head ", tile.head(),
                                  ", which the header does not list"));
  }
  const size_t columns = data_.dimension(3);
  const v1::Tensor& weights = tile.weights();
  if (Named(weights.type()) != Named(data_.header.type())) {
    return BadAnswer("a tile has another number type than the header");
  }
  const absl::StatusOr<size_t> count = CheckedCount(weights, columns);
  if (!count.ok()) return count.status();
  const bool shape_fits = weights.shape_size() == 2
                              ? weights.shape(1) == static_cast<int64_t>(columns)
                              : weights.shape_size() == 1 && columns == 1;
  const size_t rows = *count / columns;
  if (!shape_fits || tile.first_row() + rows > data_.dimension(2)) {
    return BadAnswer(absl::StrCat("a tile of [", absl::StrJoin(weights.shape(), ", "), "] at row ",
                                  tile.first_row(), " for ", data_.dimension(2), " rows of ",
                                  columns));
  }
  const size_t offset = data_.offset(layer->second, head->second, tile.first_row(), 0);
  for (size_t row = offset / columns; row < offset / columns + rows; ++row) {
    if (row_came_[row]) return BadAnswer("a row came twice");
    row_came_[row] = true;
  }
  Decode(weights, *count, columns, &data_.weights[offset]);
  for (size_t i = offset; i < offset + *count; ++i) {
    if (!std::isfinite(data_.weights[i])) return BadAnswer("a weight is not a finite number");
  }
  received_bytes_ += weights.data().size();
  return AddColumns(tile, offset, *count);
}

absl::Status AttentionDecoder::AddColumns(const v1::AttentionTile& tile, size_t offset,
                                          size_t count) {
  const size_t wanted = data_.top_k > 0 ? count : 0;
  if (static_cast<size_t>(tile.columns_size()) != wanted) {
    return BadAnswer(absl::StrCat(tile.columns_size(), " columns for ", wanted, " weights"));
  }
  for (size_t i = 0; i < wanted; ++i) {
    const uint32_t token = tile.columns(static_cast<int>(i));
    if (token >= is_key_.size() || !is_key_[token]) {
      return BadAnswer(absl::StrCat("a weight for token ", token, ", which is no key column"));
    }
    data_.columns[offset + i] = token;
  }
  return absl::OkStatus();
}

absl::StatusOr<AttentionData> AttentionDecoder::Finish() {
  if (!started_) return BadAnswer("nothing came");
  const auto missing = std::count(row_came_.begin(), row_came_.end(), false);
  if (missing > 0) {
    return BadAnswer(absl::StrCat(missing, " of ", row_came_.size(), " rows did not come"));
  }
  return std::move(data_);
}

}  // namespace heed
