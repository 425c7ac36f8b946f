#include "server/convert_status.h"

#include <algorithm>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/rpc/error_details.pb.h"
#include "model/api/error.h"

namespace heed {
namespace {

constexpr char kDomain[] = "heed.dev";
constexpr char kViolationsUrl[] = "heed.dev/violations";
constexpr absl::Duration kDefaultRetryDelay = absl::Seconds(1);
// 16 violations of these lengths and one message fit into 8 KiB as base64.
constexpr size_t kMaxMessageBytes = 512;
constexpr size_t kMaxValueBytes = 128;
constexpr size_t kMaxFieldBytes = 64;

// The first `limit` bytes of UTF-8 text, without a code point cut in two.
std::string Cut(absl::string_view text, size_t limit) {
  if (text.size() <= limit) return std::string(text);
  size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

void AddViolation(absl::string_view field, absl::string_view description,
                  google::rpc::BadRequest& bad_request) {
  auto* violation = bad_request.add_field_violations();
  violation->set_field(Cut(field, kMaxFieldBytes));
  violation->set_description(Cut(description, kMaxValueBytes));
}

google::rpc::BadRequest Violations(const absl::Status& status, const ErrorDetail& detail) {
  google::rpc::BadRequest bad_request;
  if (const auto payload = status.GetPayload(kViolationsUrl)) {
    bad_request.ParseFromString(std::string(*payload));
  } else {
    AddViolation(detail.field, status.message(), bad_request);
  }
  return bad_request;
}

google::rpc::RetryInfo Retry(const ErrorDetail& detail) {
  absl::Duration delay = kDefaultRetryDelay;
  const auto found = detail.metadata.find("retryDelay");
  if (found != detail.metadata.end()) absl::ParseDuration(found->second, &delay);
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(absl::IDivDuration(delay, absl::Seconds(1), &delay));
  retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(delay)));
  return retry;
}

}  // namespace

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status rpc;
  rpc.set_code(static_cast<int>(status.code()));
  if (status.ok()) return rpc;
  rpc.set_message(Cut(status.message(), kMaxMessageBytes));
  const ErrorDetail detail = GetErrorDetail(status);
  google::rpc::ErrorInfo info;
  info.set_domain(kDomain);
  info.set_reason(detail.reason.empty() ? absl::StatusCodeToString(status.code()) : detail.reason);
  for (const auto& [name, value] : detail.metadata) {
    (*info.mutable_metadata())[name] = Cut(value, kMaxValueBytes);
  }
  if (!detail.field.empty()) {
    (*info.mutable_metadata())["field"] = Cut(detail.field, kMaxFieldBytes);
  }
  rpc.add_details()->PackFrom(info);
  if (absl::IsInvalidArgument(status)) rpc.add_details()->PackFrom(Violations(status, detail));
  if (absl::IsResourceExhausted(status) || absl::IsUnavailable(status)) {
    rpc.add_details()->PackFrom(Retry(detail));
  }
  return rpc;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status rpc = ToRpcStatus(status);
  return grpc::Status(static_cast<grpc::StatusCode>(rpc.code()), rpc.message(),
                      rpc.SerializeAsString());
}

absl::Status CombineErrors(const std::vector<absl::Status>& errors) {
  absl::Status first = errors.front();
  if (errors.size() == 1) return first;
  google::rpc::BadRequest bad_request;
  for (size_t i = 0; i < std::min(errors.size(), kMaxViolations); ++i) {
    AddViolation(GetErrorDetail(errors[i]).field, errors[i].message(), bad_request);
  }
  first.SetPayload(kViolationsUrl, absl::Cord(bad_request.SerializeAsString()));
  return first;
}

}  // namespace heed
