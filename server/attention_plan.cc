#include "server/attention_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/api/error.h"
#include "server/attention_selection.h"
#include "server/tensor_encoding.h"

namespace heed {
namespace {

// Captures whose result is no larger are computed with the pass: queries and keys would take as
// much, and reading is then a copy.
constexpr size_t kEagerBytes = size_t{6} << 20;
constexpr size_t kLargeEagerBytes = size_t{32} << 20;
// Of a tile's message besides what grows with its rows.
constexpr size_t kTileOverhead = 256;
// A token as a varint: below 2^21.
constexpr size_t kColumnBytes = 3;
// Two tiles on their way, and what a read gives.
constexpr size_t kStreamBytes = 3 * kMaxTileBytes;

using Metadata = std::map<std::string, std::string>;

absl::Status Invalid(absl::string_view reason, absl::string_view message, absl::string_view field,
                     Metadata metadata) {
  return MakeError(absl::StatusCode::kInvalidArgument, reason, message, std::move(metadata), field);
}

absl::Status UnknownValue(absl::string_view field, int number) {
  return Invalid("UNKNOWN_ENUM_VALUE", absl::StrCat(field, " has no value ", number), field,
                 {{"value", absl::StrCat(number)}});
}

AttentionForm FormOf(const AttentionPlan& plan) {
  if (plan.joins_heads()) return AttentionForm::kMeanHeads;
  if (plan.reduction == v1::ATTENTION_REDUCTION_ENTROPY) return AttentionForm::kEntropy;
  if (plan.reduction == v1::ATTENTION_REDUCTION_MEAN_DISTANCE) return AttentionForm::kMeanDistance;
  return AttentionForm::kWeights;
}

void PlanCapture(const ModelInfo& info, AttentionPlan& plan) {
  CaptureRequest& capture = plan.capture;
  capture.layers = plan.layers;
  capture.heads = plan.heads;
  capture.form = FormOf(plan);
  const auto [first, last] = std::minmax_element(plan.rows.begin(), plan.rows.end());
  // A row of the product over layers needs every row of the layers below.
  capture.row_begin = plan.joins_layers() ? 0 : *first;
  capture.row_end = plan.joins_layers() ? static_cast<int64_t>(plan.token_count) : *last + 1;
  const size_t heads = plan.joins_heads() ? 1 : plan.heads.size();
  const size_t keys = plan.one_number_a_row() ? 1 : plan.token_count;
  const auto rows = static_cast<size_t>(capture.row_end - capture.row_begin);
  const size_t result = plan.layers.size() * heads * rows * keys * sizeof(float);
  const size_t queries_and_keys = (rows + plan.token_count) * plan.layers.size() *
                                  static_cast<size_t>(info.hidden_size) * sizeof(float);
  // Weights that come with the pass cost only their memory; those computed when they are read cost
  // their products again. What is not much larger than queries and keys is worth keeping.
  capture.eager = plan.one_number_a_row() || result <= kEagerBytes ||
                  (result <= kLargeEagerBytes && 2 * result <= 3 * queries_and_keys);
  plan.memory_bytes = kStreamBytes + (capture.eager ? result : queries_and_keys);
}

absl::Status CheckTopK(const AttentionPlan& plan) {
  if (plan.top_k <= plan.columns.size()) return absl::OkStatus();
  return Invalid(
      "TOP_K_TOO_LARGE",
      absl::StrCat("top_k is ", plan.top_k, ", but rows have ", plan.columns.size(), " columns"),
      "top_k", {{"value", absl::StrCat(plan.top_k)}, {"limit", absl::StrCat(plan.columns.size())}});
}

absl::Status CheckFlow(const AttentionPlan& plan) {
  if (plan.reduction != v1::ATTENTION_REDUCTION_FLOW || plan.token_count <= kMaxFlowTokens) {
    return absl::OkStatus();
  }
  return Invalid(
      "TOO_MANY_TOKENS_FOR_FLOW",
      absl::StrCat("the text has ", plan.token_count, " tokens, flow takes ", kMaxFlowTokens,
                   " at most; ask for rollout"),
      "reduction",
      {{"tokenCount", absl::StrCat(plan.token_count)}, {"limit", absl::StrCat(kMaxFlowTokens)}});
}

absl::Status TooLarge(const std::string& what, uint64_t bytes, size_t limit) {
  return Invalid(
      "ATTENTION_TOO_LARGE",
      absl::StrCat(what, " takes ", bytes, " bytes, the limit is ", limit,
                   "; ask for fewer layers, heads, query_rows or key_columns, for top_k, a "
                   "reduction, or a smaller type"),
      "layers", {{"byteCount", absl::StrCat(bytes)}, {"limit", absl::StrCat(limit)}});
}

absl::Status PlanTiles(size_t max_bytes, AttentionPlan& plan) {
  const size_t columns = plan.one_number_a_row() ? 1
                         : plan.top_k > 0        ? plan.top_k
                                                 : plan.columns.size();
  plan.shape = {static_cast<int64_t>(plan.joins_layers() ? 1 : plan.layers.size()),
                static_cast<int64_t>(plan.joins_heads() ? 1 : plan.heads.size()),
                static_cast<int64_t>(plan.rows.size()), static_cast<int64_t>(columns)};
  plan.total_bytes = ElementBytes(plan.type);
  for (const int64_t dimension : plan.shape) plan.total_bytes *= static_cast<uint64_t>(dimension);
  if (plan.total_bytes > max_bytes) {
    return TooLarge("the attention asked for", plan.total_bytes, max_bytes);
  }
  size_t row_bytes = columns * ElementBytes(plan.type);
  if (plan.top_k > 0) row_bytes += columns * kColumnBytes;
  if (plan.type == v1::TENSOR_TYPE_UINT8) row_bytes += sizeof(float);
  plan.tile_rows = (kMaxTileBytes - kTileOverhead) / row_bytes;
  if (plan.tile_rows > 0) {
    // Tiles of one size: a last one of a single row would cost as much as the others.
    const size_t tiles = (plan.rows.size() + plan.tile_rows - 1) / plan.tile_rows;
    plan.tile_rows = (plan.rows.size() + tiles - 1) / tiles;
  }
  if (plan.tile_rows == 0) return TooLarge("one row", row_bytes, kMaxTileBytes - kTileOverhead);
  return absl::OkStatus();
}

}  // namespace

absl::Status RequireAttention(const ModelInfo& info, absl::string_view field) {
  if (info.has_attention) return absl::OkStatus();
  return MakeError(absl::StatusCode::kFailedPrecondition, "NO_ATTENTION",
                   absl::StrCat("the architecture ", info.architecture, " has no attention"),
                   {{"architecture", info.architecture}}, field);
}

absl::Status CheckAttentionRequest(const v1::GetAttentionRequest& request, const ModelInfo& info) {
  if (!v1::AttentionReduction_IsValid(request.reduction())) {
    return UnknownValue("reduction", request.reduction());
  }
  if (!v1::TensorType_IsValid(request.type())) return UnknownValue("type", request.type());
  const std::string& reduction = v1::AttentionReduction_Name(request.reduction());
  if (request.reduction() == v1::ATTENTION_REDUCTION_ENTROPY ||
      request.reduction() == v1::ATTENTION_REDUCTION_MEAN_DISTANCE) {
    const char* const field = request.has_key_columns() ? "key_columns"
                              : request.top_k() != 0    ? "top_k"
                                                        : nullptr;
    if (field != nullptr) {
      return Invalid("NO_COLUMNS_TO_CHOOSE",
                     absl::StrCat(reduction, " gives one number a row; leave ", field, " unset"),
                     field, {{"reduction", reduction}});
    }
  }
  return RequireAttention(info);
}

absl::StatusOr<AttentionPlan> PlanAttention(const v1::GetAttentionRequest& request,
                                            const ModelInfo& info, size_t token_count,
                                            size_t max_bytes) {
  AttentionPlan plan;
  plan.reduction = request.reduction();
  plan.type =
      request.type() == v1::TENSOR_TYPE_UNSPECIFIED ? v1::TENSOR_TYPE_FLOAT32 : request.type();
  plan.token_count = token_count;
  plan.top_k = request.top_k();
  const auto resolve = [](const v1::IndexSelector& selector, int64_t count, absl::string_view field,
                          std::vector<int64_t>& entries) {
    absl::StatusOr<std::vector<int64_t>> resolved = ResolveSelector(selector, count, field);
    if (resolved.ok()) entries = *std::move(resolved);
    return resolved.status();
  };
  const auto tokens = static_cast<int64_t>(token_count);
  absl::Status status = resolve(request.layers(), info.layer_count, "layers", plan.layers);
  if (status.ok()) status = resolve(request.heads(), info.head_count, "heads", plan.heads);
  if (status.ok()) status = resolve(request.query_rows(), tokens, "query_rows", plan.rows);
  if (status.ok() && !plan.one_number_a_row()) {
    status = resolve(request.key_columns(), tokens, "key_columns", plan.columns);
  }
  if (status.ok()) status = CheckTopK(plan);
  if (status.ok()) status = CheckFlow(plan);
  if (status.ok()) status = PlanTiles(max_bytes, plan);
  if (!status.ok()) return status;
  // The product over layers has one order, the model's.
  if (plan.joins_layers()) std::sort(plan.layers.begin(), plan.layers.end());
  PlanCapture(info, plan);
  return plan;
}

}  // namespace heed
