#include "client/commands/attend_files.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/commands/exit_code.h"
#include "client/render/html.h"
#include "client/render/npz.h"
#include "client/render/png.h"
#include "client/render/safetensors.h"

namespace heed::cli {
namespace {

// What the page shows besides the weights.
struct PageExtras {
  std::optional<AttentionData> rollout;
  std::optional<AttentionData> entropy;
  std::vector<float> importance;
};

void TellMissing(absl::string_view what, const absl::Status& status, Io& io) {
  PrintError(absl::StrCat("the page has no ", what, ": ", status.message()), io);
}

std::optional<AttentionData> Reduced(const AttendCommand& command, v1::AttentionReduction reduction,
                                     absl::string_view name, const Client& client, Io& io) {
  v1::GetAttentionRequest request = command.request;
  request.set_reduction(reduction);
  request.set_type(v1::TENSOR_TYPE_FLOAT32);
  request.clear_top_k();
  if (reduction == v1::ATTENTION_REDUCTION_ENTROPY) request.clear_key_columns();
  absl::StatusOr<AttentionData> data = client.GetAttention(request);
  if (data.ok()) return *std::move(data);
  TellMissing(name, data.status(), io);
  return std::nullopt;
}

std::vector<float> ImportanceOf(const AttendCommand& command, const AttentionData& data,
                                const Client& client, Io& io) {
  v1::ClassifyRequest request;
  *request.mutable_model() = command.request.model();
  *request.add_inputs() = command.request.input();
  request.set_long_text_policy(command.request.long_text_policy());
  if (command.request.has_position_override()) {
    *request.mutable_position_override() = command.request.position_override();
  }
  request.set_importance(v1::IMPORTANCE_ROLLOUT_CLS);
  const absl::StatusOr<v1::ClassifyResponse> response = client.Classify(request);
  if (!response.ok()) {
    TellMissing("importance", response.status(), io);
    return {};
  }
  if (response->results_size() != 1 ||
      response->results(0).token_importance_size() != data.header.tokens_size()) {
    TellMissing("importance", absl::InternalError("the server gave another number of them"), io);
    return {};
  }
  const auto& importance = response->results(0).token_importance();
  return {importance.begin(), importance.end()};
}

absl::Status WriteHtml(const AttendCommand& command, const AttentionData& data,
                       const Client& client, Io& io) {
  PageExtras extras;
  extras.rollout = Reduced(command, v1::ATTENTION_REDUCTION_ROLLOUT, "rollout", client, io);
  // A mean over the heads has no heads whose entropy could be shown.
  if (data.reduction == v1::ATTENTION_REDUCTION_UNSPECIFIED) {
    extras.entropy = Reduced(command, v1::ATTENTION_REDUCTION_ENTROPY, "entropy", client, io);
  }
  extras.importance = ImportanceOf(command, data, client, io);
  AttentionPage page;
  page.text = command.request.input().text();
  page.text_pair = command.request.input().text_pair();
  page.weights = &data;
  page.rollout = extras.rollout.has_value() ? &*extras.rollout : nullptr;
  page.entropy = extras.entropy.has_value() ? &*extras.entropy : nullptr;
  page.importance = extras.importance;
  if (!page.importance.empty()) page.importance_name = "rollout to the summary token";
  return WriteAttentionPage(command.html, page);
}

absl::Status WritePng(const std::string& path, const AttentionData& data) {
  const bool single = data.dimension(0) == 1 && data.dimension(1) == 1;
  return single ? WriteHeadPng(path, data, 0, 0) : WriteAttentionGridPng(path, data);
}

}  // namespace

absl::Status WriteAttendFiles(const AttendCommand& command, const AttentionData& data,
                              const Client& client, Io& io) {
  absl::Status status;
  if (!command.npz.empty()) status = WriteNpz(command.npz, data);
  if (status.ok() && !command.safetensors.empty()) {
    status = WriteSafetensors(command.safetensors, data);
  }
  if (status.ok() && !command.png.empty()) status = WritePng(command.png, data);
  if (status.ok() && !command.html.empty()) status = WriteHtml(command, data, client, io);
  return status;
}

}  // namespace heed::cli
