// The call of AttentionService: reads its stream into one AttentionData.
#include <memory>

#include "client/attention_decoder.h"
#include "client/client.h"
#include "client/client_internal.h"

namespace heed {

absl::StatusOr<AttentionData> Client::GetAttention(const v1::GetAttentionRequest& request,
                                                   const AttentionProgress& progress,
                                                   const CallOptions& options) const {
  const absl::Time deadline = options_.now() + options.deadline.value_or(options_.deadline);
  while (true) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + (deadline - options_.now())));
    const std::unique_ptr<grpc::ClientReader<v1::GetAttentionResponse>> stream =
        stubs_->attention->GetAttention(&context, request);
    AttentionDecoder decoder(request.reduction(), request.top_k(), options_.max_attention_bytes);
    v1::GetAttentionResponse part;
    absl::Status bad_answer;
    while (bad_answer.ok() && stream->Read(&part)) {
      bad_answer = decoder.Add(part);
      if (bad_answer.ok() && progress) progress(decoder.received_bytes(), decoder.total_bytes());
    }
    if (!bad_answer.ok()) context.TryCancel();
    const grpc::Status outcome = stream->Finish();
    if (!bad_answer.ok()) return bad_answer;
    if (outcome.ok()) return decoder.Finish();
    absl::Status status = FromGrpcStatus(outcome);
    if (decoder.started()) return status;
    const std::optional<absl::Duration> wait =
        internal::RetryWait(status, deadline - options_.now());
    if (!wait.has_value()) return status;
    options_.sleep(*wait);
  }
}

}  // namespace heed
