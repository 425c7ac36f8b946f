// The calls of ProbeService.
#include "client/client.h"
#include "client/client_internal.h"

namespace heed {

absl::StatusOr<v1::ProbePermutationResponse> Client::ProbePermutation(
    const v1::ProbePermutationRequest& request, const CallOptions& options) const {
  return Call<v1::ProbePermutationResponse>(options, [&](auto* context, auto* response) {
    return stubs_->probe->ProbePermutation(context, request, response);
  });
}

absl::StatusOr<v1::ProbeMaskingResponse> Client::ProbeMasking(
    const v1::ProbeMaskingRequest& request, const CallOptions& options) const {
  return Call<v1::ProbeMaskingResponse>(options, [&](auto* context, auto* response) {
    return stubs_->probe->ProbeMasking(context, request, response);
  });
}

absl::StatusOr<v1::GetLayerProfileResponse> Client::GetLayerProfile(
    const v1::GetLayerProfileRequest& request, const CallOptions& options) const {
  return Call<v1::GetLayerProfileResponse>(options, [&](auto* context, auto* response) {
    return stubs_->probe->GetLayerProfile(context, request, response);
  });
}

absl::StatusOr<v1::GetPositionSimilarityResponse> Client::GetPositionSimilarity(
    const v1::GetPositionSimilarityRequest& request, const CallOptions& options) const {
  return Call<v1::GetPositionSimilarityResponse>(options, [&](auto* context, auto* response) {
    return stubs_->probe->GetPositionSimilarity(context, request, response);
  });
}

}  // namespace heed
