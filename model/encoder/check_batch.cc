#include "model/encoder/check_batch.h"

#include "absl/strings/str_cat.h"
#include "model/api/error.h"

namespace heed {
namespace {

absl::Status BadBatch(absl::string_view what) {
  return MakeError(absl::StatusCode::kInvalidArgument, "BAD_BATCH", what);
}

}  // namespace

absl::Status OutOfRange(absl::string_view what, int64_t value, int64_t limit) {
  return MakeError(absl::StatusCode::kInvalidArgument, "OUT_OF_RANGE",
                   absl::StrCat(what, " ", value, " is not in [0, ", limit, ")"),
                   {{"value", absl::StrCat(value)}, {"limit", absl::StrCat(limit)}});
}

// Every value in [0, limit).
absl::Status CheckRange(const std::vector<int64_t>& values, int64_t limit, absl::string_view what) {
  for (const int64_t value : values) {
    if (value < 0 || value >= limit) return OutOfRange(what, value, limit);
  }
  return absl::OkStatus();
}

absl::Status CheckBatchShape(const RaggedBatch& batch) {
  const size_t token_count = batch.token_count();
  if (batch.cu_seqlens.size() < 2 || batch.cu_seqlens.front() != 0 ||
      batch.cu_seqlens.back() != static_cast<int64_t>(token_count)) {
    return BadBatch("cu_seqlens does not go from 0 to the number of tokens");
  }
  for (size_t b = 0; b < batch.text_count(); ++b) {
    if (batch.length(b) <= 0) return BadBatch(absl::StrCat("text ", b, " has no token"));
  }
  const auto fits = [](const auto& values, size_t size) {
    return values.empty() || values.size() == size;
  };
  if (batch.segments.size() != token_count || batch.positions.size() != token_count ||
      !fits(batch.key_mask, token_count) || !fits(batch.global_mask, token_count)) {
    return BadBatch("ids, segments, positions and masks differ in length");
  }
  if (!fits(batch.context_lengths, batch.text_count()) ||
      !fits(batch.has_globals, batch.text_count()) ||
      batch.has_globals.empty() != batch.global_mask.empty()) {
    return BadBatch("context_lengths or has_globals is not one entry a text");
  }
  for (size_t b = 0; b < batch.text_count(); ++b) {
    if (batch.context_length(b) < batch.length(b)) {
      return BadBatch(absl::StrCat("text ", b, " is longer than its context_length"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRequest(const AttentionRequest& request, const RaggedBatch& batch,
                          int64_t layer_count, int64_t head_count) {
  if (request.layer < 0 || request.layer >= layer_count) {
    return OutOfRange("layer", request.layer, layer_count);
  }
  const auto text_count = static_cast<int64_t>(batch.text_count());
  if (request.text < 0 || request.text >= text_count) {
    return OutOfRange("text", request.text, text_count);
  }
  for (const int64_t head : request.heads) {
    if (head < 0 || head >= head_count) return OutOfRange("head", head, head_count);
  }
  const int64_t length = batch.length(request.text);
  const int64_t end = request.row_end < 0 ? length : request.row_end;
  if (request.row_begin < 0 || request.row_begin >= end || end > length) {
    return MakeError(absl::StatusCode::kInvalidArgument, "OUT_OF_RANGE",
                     absl::StrCat("rows ", request.row_begin, " to ", request.row_end,
                                  " are not a range within ", length, " tokens"),
                     {{"limit", absl::StrCat(length)}});
  }
  return absl::OkStatus();
}

absl::Status CheckLengths(const RaggedBatch& batch, int64_t max_tokens) {
  for (size_t b = 0; max_tokens > 0 && b < batch.text_count(); ++b) {
    if (batch.length(b) > max_tokens) {
      return OutOfRange("a text's last token", batch.length(b) - 1, max_tokens);
    }
  }
  return absl::OkStatus();
}

}  // namespace heed
