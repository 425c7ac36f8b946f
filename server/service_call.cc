#include "server/service_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "model/api/error.h"

namespace heed {
namespace {

absl::Status MessageTooLarge(size_t bytes, size_t limit) {
  return MakeError(absl::StatusCode::kInvalidArgument, "MESSAGE_TOO_LARGE",
                   absl::StrCat("the request has ", bytes, " bytes, the limit is ", limit,
                                "; send its inputs in several calls"),
                   {{"byteCount", absl::StrCat(bytes)}, {"limit", absl::StrCat(limit)}}, "inputs");
}

}  // namespace

Handler Instrumented(const ServiceContext& context, const std::string& method, Handler handler) {
  return [context, method, handler = std::move(handler)](std::shared_ptr<Call> call) {
    const absl::Time start = context.clock->Now();
    const absl::Status entered = context.lifecycle->Enter();
    call->finish = [context, method, start, in = entered.ok(), send = std::move(call->finish)](
                       const absl::Status& status, grpc::ByteBuffer body) {
      context.metrics->CountRequest(method, status.code(), context.clock->Now() - start);
      send(status, std::move(body));
      if (in) context.lifecycle->Leave();
    };
    if (!entered.ok()) {
      call->Fail(entered);
    } else if (call->deadline <= start) {
      call->Fail(MakeError(absl::StatusCode::kDeadlineExceeded, "DEADLINE_EXCEEDED",
                           "the client's deadline passed before the request was read"));
    } else if (call->request.Length() > context.limits.max_message_bytes) {
      call->Fail(MessageTooLarge(call->request.Length(), context.limits.max_message_bytes));
    } else {
      handler(std::move(call));
    }
  };
}

absl::Status UnimplementedMethod(const std::string& method) {
  return MakeError(absl::StatusCode::kUnimplemented, "METHOD_NOT_IMPLEMENTED",
                   absl::StrCat("this server does not implement ", method), {{"method", method}});
}

}  // namespace heed
