// What the RPCs that take texts have in common: checking them, and turning them into tokens.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "heed/v1/common.pb.h"
#include "model/api/tokenizer.h"
#include "server/service_call.h"

namespace heed {

using TextInputs = google::protobuf::RepeatedPtrField<v1::TextInput>;

struct EncodedInput {
  TokenizedItem item;
  absl::Duration tokenize;
};

// Of both texts.
size_t TextBytes(const v1::TextInput& input);

// UNIMPLEMENTED with reason FEATURE_NOT_AVAILABLE for a request field of later versions.
absl::Status FeatureNotAvailable(const std::string& field, const std::string& value);

// Errors with field "long_text_policy": UNIMPLEMENTED for CHUNK, INVALID_ARGUMENT for a value
// outside the enumeration.
absl::StatusOr<TooLong> ReadLongTextPolicy(v1::LongTextPolicy policy);

// The counts and lengths of `inputs`, before any work. INVALID_ARGUMENT: EMPTY_INPUTS,
// TOO_MANY_INPUTS, TEXT_TOO_LARGE, PAIR_NOT_SUPPORTED.
absl::Status CheckInputs(const TextInputs& inputs, const RequestLimits& limits,
                         const ModelInfo& info);

// The same for one input; fields are below it ("text", "text_pair").
absl::Status CheckInput(const v1::TextInput& input, const RequestLimits& limits,
                        const ModelInfo& info);

// CANCELLED or DEADLINE_EXCEEDED for a call that nobody waits for any more.
absl::Status CheckAlive(const ServiceContext& context, const Call& call);

// Tokenizes one input. Errors: the tokenizer's, and CANCELLED or DEADLINE_EXCEEDED, before any
// work, for a call that nobody waits for.
absl::StatusOr<EncodedInput> EncodeInput(const ServiceContext& context, const Call& call,
                                         const Tokenizer& tokenizer, const v1::TextInput& input,
                                         const EncodeOptions& options);

// Tokenizes every input, or fails naming every one at fault (as many as CombineErrors takes).
// Stops early when the call is cancelled or its deadline has passed.
absl::StatusOr<std::vector<EncodedInput>> EncodeInputs(const ServiceContext& context,
                                                       const Call& call, const Tokenizer& tokenizer,
                                                       const TextInputs& inputs,
                                                       const EncodeOptions& options);

// Runs `work` here when `inputs` are short, else on the pool: a long text must not hold up the
// thread that reads other requests. Fails the call with RESOURCE_EXHAUSTED when the pool's
// waiting work holds too much memory.
void RunByLength(const ServiceContext& context, const TextInputs& inputs,
                 const std::shared_ptr<Call>& call, std::function<void()> work);
// The same for texts of `bytes` together.
void RunByLength(const ServiceContext& context, size_t bytes, const std::shared_ptr<Call>& call,
                 std::function<void()> work);

}  // namespace heed
