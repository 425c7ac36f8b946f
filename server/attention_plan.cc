#include "server/attention_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "model/api/error.h"
#include "server/attention_selection.h"
#include "server/tensor_encoding.h"

namespace heed {
namespace {

constexpr int64_t kTileBytes = int64_t{1} << 20;
// Of a tile's message besides its numbers.
constexpr int64_t kTileOverhead = 4096;
constexpr int64_t kMaxFlowTokens = 64;
// Weights up to this are always computed in the pass: less than a batch holds anyway.
constexpr double kSmallBytes = 6 * 1048576.0;
// More than this is never held.
constexpr double kLargestHeldBytes = 32 * 1048576.0;

absl::Status Invalid(absl::string_view reason, absl::string_view message, absl::string_view field,
                     std::map<std::string, std::string> metadata = {}) {
  return MakeError(absl::StatusCode::kInvalidArgument, reason, message, std::move(metadata), field);
}

absl::Status UnknownValue(const std::string& field, int value) {
  return Invalid("UNKNOWN_ENUM_VALUE", absl::StrCat(field, " has no value ", value), field,
                 {{"value", absl::StrCat(value)}});
}

bool IsSet(const v1::IndexSelector& selector) {
  return selector.indices_size() + selector.ranges_size() > 0;
}

AttentionForm FormOf(v1::AttentionReduction reduction) {
  switch (reduction) {
    case v1::ATTENTION_REDUCTION_MEAN_HEADS:
    case v1::ATTENTION_REDUCTION_ROLLOUT:
    case v1::ATTENTION_REDUCTION_FLOW:
      return AttentionForm::kMeanHeads;
    case v1::ATTENTION_REDUCTION_ENTROPY:
      return AttentionForm::kEntropy;
    case v1::ATTENTION_REDUCTION_MEAN_DISTANCE:
      return AttentionForm::kMeanDistance;
    default:
      return AttentionForm::kWeights;
  }
}

// Chooses between weights computed with the pass and queries and keys kept for later: what is
// smaller, as long as it is not small anyway.
void PlanCapture(const ModelInfo& info, AttentionPlan& plan) {
  CaptureRequest& capture = plan.capture;
  capture.layers = plan.layers;
  capture.heads = plan.heads;
  capture.form = FormOf(plan.reduction);
  capture.row_begin = 0;
  capture.row_end = plan.token_count;
  if (!plan.through_layers()) {
    capture.row_begin = *std::min_element(plan.rows.begin(), plan.rows.end());
    capture.row_end = *std::max_element(plan.rows.begin(), plan.rows.end()) + 1;
  }
  const auto layers = static_cast<double>(plan.layers.size());
  const auto heads = static_cast<double>(plan.heads.size());
  const auto rows = static_cast<double>(capture.row_end - capture.row_begin);
  const auto tokens = static_cast<double>(plan.token_count);
  const double maps = capture.form == AttentionForm::kMeanHeads ? 1 : heads;
  const double width = plan.one_number_a_row() ? 1 : tokens;
  const double result = layers * maps * rows * width * sizeof(float);
  const double head_size =
      static_cast<double>(info.hidden_size) / static_cast<double>(info.head_count);
  const double kept = layers * heads * (rows + tokens) * head_size * sizeof(float);
  capture.eager = result <= kSmallBytes || (result <= kLargestHeldBytes && result <= 1.5 * kept);
  double bytes = capture.eager ? result : kept;
  if (plan.through_layers()) {
    bytes += static_cast<double>(plan.rows.size()) * tokens * sizeof(float);
  }
  plan.memory_bytes = static_cast<size_t>(bytes) + 4 * kTileBytes;
}

absl::Status TooLarge(const AttentionPlan& plan, double bytes, size_t limit) {
  return Invalid(
      "ATTENTION_TOO_LARGE",
      absl::StrCat("the attention asked for takes ", static_cast<uint64_t>(bytes), " bytes (",
                   plan.shape[0], " layers × ", plan.shape[1], " heads × ", plan.shape[2],
                   " rows × ", plan.shape[3], " columns), the limit is ", limit,
                   "; name fewer layers, heads or query_rows, set top_k, or choose a smaller type"),
      "",
      {{"byteCount", absl::StrCat(static_cast<uint64_t>(bytes))}, {"limit", absl::StrCat(limit)}});
}

}  // namespace

int64_t AttentionPlan::rows_per_tile() const {
  // A row's numbers, its scale, and the column of each number.
  const int64_t width = shape[3];
  const int64_t row =
      width * static_cast<int64_t>(TensorValueBytes(type)) + 4 + (top_k > 0 ? width * 5 : 0);
  return std::max<int64_t>(1, (kTileBytes - kTileOverhead) / row);
}

absl::Status CheckAttentionRequest(const v1::GetAttentionRequest& request, const ModelInfo& info) {
  if (!v1::AttentionReduction_IsValid(request.reduction())) {
    return UnknownValue("reduction", request.reduction());
  }
  if (!v1::TensorType_IsValid(request.type())) return UnknownValue("type", request.type());
  if (!info.has_attention) {
    return MakeError(
        absl::StatusCode::kFailedPrecondition, "NO_ATTENTION",
        absl::StrCat("a model of architecture ", info.architecture, " has no attention to show"),
        {{"architecture", info.architecture}});
  }
  if (request.reduction() == v1::ATTENTION_REDUCTION_ENTROPY ||
      request.reduction() == v1::ATTENTION_REDUCTION_MEAN_DISTANCE) {
    const bool columns = IsSet(request.key_columns());
    if (columns || request.top_k() > 0) {
      return Invalid("SELECTOR_NOT_SUPPORTED",
                     "this reduction makes one number of each row; leave key_columns and top_k "
                     "unset",
                     columns ? "key_columns" : "top_k",
                     {{"reduction", v1::AttentionReduction_Name(request.reduction())}});
    }
  }
  if (auto layers = Select(request.layers(), info.layer_count, "layers"); !layers.ok()) {
    return layers.status();
  }
  return Select(request.heads(), info.head_count, "heads").status();
}

absl::StatusOr<AttentionPlan> PlanAttention(const v1::GetAttentionRequest& request,
                                            const ModelInfo& info, int64_t token_count,
                                            size_t max_bytes) {
  AttentionPlan plan;
  plan.reduction = request.reduction();
  plan.type =
      request.type() == v1::TENSOR_TYPE_UNSPECIFIED ? v1::TENSOR_TYPE_FLOAT32 : request.type();
  plan.token_count = token_count;
  const auto select = [](const v1::IndexSelector& selector, int64_t count, const char* field,
                         std::vector<int64_t>& target) {
    auto picked = Select(selector, count, field);
    if (picked.ok()) target = *std::move(picked);
    return picked.status();
  };
  absl::Status status = select(request.layers(), info.layer_count, "layers", plan.layers);
  if (status.ok()) status = select(request.heads(), info.head_count, "heads", plan.heads);
  if (status.ok()) status = select(request.query_rows(), token_count, "query_rows", plan.rows);
  if (status.ok()) status = select(request.key_columns(), token_count, "key_columns", plan.columns);
  if (!status.ok()) return status;
  if (plan.reduction == v1::ATTENTION_REDUCTION_FLOW && token_count > kMaxFlowTokens) {
    return Invalid(
        "TOO_MANY_TOKENS_FOR_FLOW",
        absl::StrCat("flow takes at most ", kMaxFlowTokens, " tokens, the text has ", token_count,
                     "; use rollout"),
        "reduction",
        {{"tokenCount", absl::StrCat(token_count)}, {"limit", absl::StrCat(kMaxFlowTokens)}});
  }
  const auto columns = static_cast<int64_t>(plan.columns.size());
  if (request.top_k() > 0) plan.top_k = std::min<int64_t>(request.top_k(), columns);
  const bool joined = plan.through_layers() || plan.reduction == v1::ATTENTION_REDUCTION_MEAN_HEADS;
  plan.shape = {plan.through_layers() ? 1 : static_cast<int64_t>(plan.layers.size()),
                joined ? 1 : static_cast<int64_t>(plan.heads.size()),
                static_cast<int64_t>(plan.rows.size()),
                plan.one_number_a_row() ? 1
                : plan.top_k > 0        ? plan.top_k
                                        : columns};
  // In floating point, since a product of four counts may not fit.
  double bytes = static_cast<double>(TensorValueBytes(plan.type));
  for (const int64_t size : plan.shape) bytes *= static_cast<double>(size);
  if (bytes > static_cast<double>(max_bytes)) return TooLarge(plan, bytes, max_bytes);
  plan.total_bytes = static_cast<uint64_t>(bytes);
  PlanCapture(info, plan);
  return plan;
}

}  // namespace heed
