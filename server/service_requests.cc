#include "server/service_requests.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/api/error.h"
#include "server/convert_status.h"

namespace heed {
namespace {

// Tokenizing this much takes about 100 µs, less than a change of threads may cost a busy server.
constexpr size_t kInlineBytes = 2048;

size_t TotalBytes(const TextInputs& inputs) {
  size_t bytes = 0;
  for (const v1::TextInput& input : inputs) bytes += TextBytes(input);
  return bytes;
}

absl::Status Invalid(absl::string_view reason, absl::string_view message, absl::string_view field,
                     std::map<std::string, std::string> metadata = {}) {
  return MakeError(absl::StatusCode::kInvalidArgument, reason, message, std::move(metadata), field);
}

absl::Status CheckLength(const std::string& text, const std::string& field, size_t limit) {
  if (text.size() <= limit) return absl::OkStatus();
  return Invalid("TEXT_TOO_LARGE",
                 absl::StrCat("the text has ", text.size(), " bytes, the limit is ", limit), field,
                 {{"byteCount", absl::StrCat(text.size())}, {"limit", absl::StrCat(limit)}});
}

bool IsGone(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
}

std::string Indexed(int index) { return absl::StrCat("inputs[", index, "]"); }

}  // namespace

absl::Status CheckAlive(const ServiceContext& context, const Call& call) {
  if (call.deadline <= context.clock->Now()) {
    return MakeError(absl::StatusCode::kDeadlineExceeded, "DEADLINE_EXCEEDED",
                     "the client's deadline passed while its texts were tokenized");
  }
  if (call.cancel->cancelled()) {
    return MakeError(absl::StatusCode::kCancelled, "CANCELLED", "the client cancelled the request");
  }
  return absl::OkStatus();
}

size_t TextBytes(const v1::TextInput& input) {
  return input.text().size() + input.text_pair().size();
}

absl::Status CheckInput(const v1::TextInput& input, const RequestLimits& limits,
                        const ModelInfo& info) {
  if (input.has_text_pair() && !info.accepts_pairs) {
    return Invalid("PAIR_NOT_SUPPORTED", "this model does not take pairs of texts", "text_pair");
  }
  const absl::Status status = CheckLength(input.text(), "text", limits.max_text_bytes);
  if (!status.ok()) return status;
  return CheckLength(input.text_pair(), "text_pair", limits.max_text_bytes);
}

absl::Status FeatureNotAvailable(const std::string& field, const std::string& value) {
  return MakeError(absl::StatusCode::kUnimplemented, "FEATURE_NOT_AVAILABLE",
                   absl::StrCat("this server does not implement ", field, " = ", value),
                   {{"value", value}}, field);
}

absl::StatusOr<TooLong> ReadLongTextPolicy(v1::LongTextPolicy policy) {
  switch (policy) {
    case v1::LONG_TEXT_POLICY_UNSPECIFIED:
    case v1::LONG_TEXT_POLICY_ERROR:
      return TooLong::kError;
    case v1::LONG_TEXT_POLICY_TRUNCATE:
      return TooLong::kTruncate;
    case v1::LONG_TEXT_POLICY_CHUNK:
      return FeatureNotAvailable("long_text_policy", v1::LongTextPolicy_Name(policy));
    default:
      return Invalid("UNKNOWN_ENUM_VALUE",
                     absl::StrCat("long_text_policy has no value ", static_cast<int>(policy)),
                     "long_text_policy", {{"value", absl::StrCat(static_cast<int>(policy))}});
  }
}

absl::Status CheckInputs(const TextInputs& inputs, const RequestLimits& limits,
                         const ModelInfo& info) {
  const size_t count = static_cast<size_t>(inputs.size());
  if (count == 0) return Invalid("EMPTY_INPUTS", "inputs is empty; give at least one", "inputs");
  if (count > limits.max_texts) {
    return Invalid(
        "TOO_MANY_INPUTS",
        absl::StrCat("the request has ", count, " inputs, the limit is ", limits.max_texts),
        "inputs", {{"count", absl::StrCat(count)}, {"limit", absl::StrCat(limits.max_texts)}});
  }
  std::vector<absl::Status> errors;
  for (int i = 0; i < inputs.size() && errors.size() < kMaxViolations; ++i) {
    const absl::Status status = CheckInput(inputs[i], limits, info);
    if (!status.ok()) errors.push_back(InField(status, Indexed(i)));
  }
  return errors.empty() ? absl::OkStatus() : CombineErrors(errors);
}

absl::StatusOr<EncodedInput> EncodeInput(const ServiceContext& context, const Call& call,
                                         const Tokenizer& tokenizer, const v1::TextInput& input,
                                         const EncodeOptions& options) {
  const absl::Status alive = CheckAlive(context, call);
  if (!alive.ok()) return alive;
  std::optional<absl::string_view> pair;
  if (input.has_text_pair()) pair = input.text_pair();
  const absl::Time start = context.clock->Now();
  absl::StatusOr<TokenizedItem> item = tokenizer.Encode(input.text(), pair, options);
  if (!item.ok()) return item.status();
  return EncodedInput{*std::move(item), context.clock->Now() - start};
}

absl::StatusOr<std::vector<EncodedInput>> EncodeInputs(const ServiceContext& context,
                                                       const Call& call, const Tokenizer& tokenizer,
                                                       const TextInputs& inputs,
                                                       const EncodeOptions& options) {
  std::vector<EncodedInput> encoded;
  encoded.reserve(static_cast<size_t>(inputs.size()));
  std::vector<absl::Status> errors;
  for (int i = 0; i < inputs.size() && errors.size() < kMaxViolations; ++i) {
    absl::StatusOr<EncodedInput> input = EncodeInput(context, call, tokenizer, inputs[i], options);
    if (input.ok()) {
      encoded.push_back(*std::move(input));
    } else if (IsGone(input.status())) {
      return input.status();
    } else {
      errors.push_back(InField(input.status(), Indexed(i)));
    }
  }
  if (!errors.empty()) return CombineErrors(errors);
  return encoded;
}

void RunByLength(const ServiceContext& context, const TextInputs& inputs,
                 const std::shared_ptr<Call>& call, std::function<void()> work) {
  RunByLength(context, TotalBytes(inputs), call, std::move(work));
}

void RunByLength(const ServiceContext& context, size_t bytes, const std::shared_ptr<Call>& call,
                 std::function<void()> work) {
  if (bytes <= kInlineBytes) return work();
  if (context.pool->TrySubmit(bytes, std::move(work))) return;
  call->Fail(MakeError(absl::StatusCode::kResourceExhausted, "TOKENIZER_QUEUE_FULL",
                       "too many texts wait to be tokenized",
                       {{"byteCount", absl::StrCat(bytes)}}));
}

}  // namespace heed
