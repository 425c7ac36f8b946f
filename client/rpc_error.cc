#include "client/rpc_error.h"

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/support/status.h>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace heed {
namespace {

constexpr absl::string_view kTypePrefix = "type.googleapis.com/";
constexpr absl::string_view kInputs = "inputs[";

// False if `status` has no such detail or it does not parse.
template <typename Message>
bool ReadDetail(const absl::Status& status, Message* message) {
  const absl::optional<absl::Cord> payload =
      status.GetPayload(absl::StrCat(kTypePrefix, Message::descriptor()->full_name()));
  return payload.has_value() && message->ParseFromString(std::string(*payload));
}

template <typename Message>
void WriteDetail(const Message& message, absl::Status* status) {
  status->SetPayload(absl::StrCat(kTypePrefix, Message::descriptor()->full_name()),
                     absl::Cord(message.SerializeAsString()));
}

// Every "inputs[i" in `text` with i + offset instead of i.
std::string ShiftText(absl::string_view text, size_t offset) {
  std::string result;
  size_t done = 0;
  while (true) {
    const size_t found = text.find(kInputs, done);
    if (found == absl::string_view::npos) break;
    const size_t begin = found + kInputs.size();
    size_t end = begin;
    while (end < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[end]))) ++end;
    uint64_t index = 0;
    absl::StrAppend(&result, text.substr(done, begin - done));
    if (absl::SimpleAtoi(text.substr(begin, end - begin), &index)) {
      absl::StrAppend(&result, index + offset);
    } else {
      absl::StrAppend(&result, text.substr(begin, end - begin));
    }
    done = end;
  }
  absl::StrAppend(&result, text.substr(done));
  return result;
}

}  // namespace

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  google::rpc::Status proto;
  if (!proto.ParseFromString(status.error_details())) return result;
  for (const google::protobuf::Any& detail : proto.details()) {
    result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  }
  return result;
}

RpcErrorDetails GetRpcErrorDetails(const absl::Status& status) {
  RpcErrorDetails details;
  google::rpc::ErrorInfo info;
  if (ReadDetail(status, &info)) {
    details.reason = info.reason();
    details.domain = info.domain();
    details.metadata.insert(info.metadata().begin(), info.metadata().end());
  }
  google::rpc::BadRequest bad_request;
  if (ReadDetail(status, &bad_request)) {
    for (const auto& violation : bad_request.field_violations()) {
      details.field_violations.push_back({violation.field(), violation.description()});
    }
  }
  google::rpc::RetryInfo retry;
  if (ReadDetail(status, &retry) && retry.has_retry_delay()) {
    details.retry_delay = absl::Seconds(retry.retry_delay().seconds()) +
                          absl::Nanoseconds(retry.retry_delay().nanos());
  }
  return details;
}

std::string FormatError(const absl::Status& status) {
  std::string text = absl::StrCat(absl::StatusCodeToString(status.code()), ": ", status.message());
  const RpcErrorDetails details = GetRpcErrorDetails(status);
  for (const FieldViolation& violation : details.field_violations) {
    const bool repeats = violation.description.empty() || violation.description == status.message();
    // A single field that the message names already would only say it twice.
    if (repeats && absl::StrContains(status.message(), violation.field)) continue;
    absl::StrAppend(&text, "\n  ", violation.field, repeats ? "" : ": ",
                    repeats ? "" : violation.description);
  }
  if (details.retry_delay.has_value()) {
    absl::StrAppend(&text, "\n  retry after ", absl::FormatDuration(*details.retry_delay));
  }
  return text;
}

absl::Status ShiftInputIndexes(const absl::Status& status, size_t offset) {
  if (status.ok() || offset == 0) return status;
  absl::Status result(status.code(), ShiftText(status.message(), offset));
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& value) { result.SetPayload(url, value); });
  google::rpc::BadRequest bad_request;
  if (ReadDetail(status, &bad_request)) {
    for (auto& violation : *bad_request.mutable_field_violations()) {
      violation.set_field(ShiftText(violation.field(), offset));
      violation.set_description(ShiftText(violation.description(), offset));
    }
    WriteDetail(bad_request, &result);
  }
  return result;
}

}  // namespace heed
