#include "model/api/error.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace heed {
namespace {

constexpr absl::string_view kReasonUrl = "heed.dev/reason";
constexpr absl::string_view kFieldUrl = "heed.dev/field";
constexpr absl::string_view kMetadataUrlPrefix = "heed.dev/metadata/";

}  // namespace

absl::Status MakeError(absl::StatusCode code, absl::string_view reason, absl::string_view message,
                       std::map<std::string, std::string> metadata, absl::string_view field) {
  absl::Status status(code, message);
  status.SetPayload(kReasonUrl, absl::Cord(reason));
  if (!field.empty()) status.SetPayload(kFieldUrl, absl::Cord(field));
  for (const auto& [name, value] : metadata) {
    status.SetPayload(absl::StrCat(kMetadataUrlPrefix, name), absl::Cord(value));
  }
  return status;
}

ErrorDetail GetErrorDetail(const absl::Status& status) {
  ErrorDetail detail;
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& value) {
    if (url == kReasonUrl) {
      detail.reason = std::string(value);
    } else if (url == kFieldUrl) {
      detail.field = std::string(value);
    } else if (absl::ConsumePrefix(&url, kMetadataUrlPrefix)) {
      detail.metadata.emplace(std::string(url), std::string(value));
    }
  });
  return detail;
}

absl::Status InField(const absl::Status& status, absl::string_view prefix) {
  if (status.ok()) return status;
  absl::Status result = status;
  const std::string inner = GetErrorDetail(status).field;
  result.SetPayload(kFieldUrl, absl::Cord(inner.empty() ? std::string(prefix)
                                                        : absl::StrCat(prefix, ".", inner)));
  return result;
}

absl::Status WithMessagePrefix(const absl::Status& status, absl::string_view prefix) {
  if (status.ok()) return status;
  absl::Status result(status.code(), absl::StrCat(prefix, status.message()));
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& value) { result.SetPayload(url, value); });
  return result;
}

}  // namespace heed
