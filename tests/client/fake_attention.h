// Attention and probes for client tests, answered by rule.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "heed/v1/attention.grpc.pb.h"
#include "heed/v1/probe.grpc.pb.h"

namespace heed::testing {

constexpr uint32_t kFakeLayers = 3;
constexpr uint32_t kFakeHeads = 2;

// The weight that the fake's attention gives to `column` in `row`, of `count` tokens. Head h of
// layer l looks h tokens ahead and, the more the higher the layer is, at the first token.
float FakeWeight(uint32_t layer, uint32_t head, uint32_t row, uint32_t column, uint32_t count);

// "[CLS]", the words of the text between blanks, "[SEP]"; with offsets.
void AddFakeTokens(const std::string& text, google::protobuf::RepeatedPtrField<v1::Token>* tokens);

// Rules of GetAttention: first the queued statuses, one a call; the text "none" is a model without
// attention; the text "short" ends before its last tile; else FakeWeight() in tiles of two rows.
// ROLLOUT and FLOW are the mean over all selected layers and heads.
class FakeAttention final : public v1::AttentionService::Service {
 public:
  void QueueStatus(const grpc::Status& status);
  std::vector<v1::GetAttentionRequest> requests() const;

  grpc::Status GetAttention(grpc::ServerContext* context, const v1::GetAttentionRequest* request,
                            grpc::ServerWriter<v1::GetAttentionResponse>* writer) override;

 private:
  mutable std::mutex mutex_;
  std::deque<grpc::Status> statuses_;
  std::vector<v1::GetAttentionRequest> requests_;
};

// Every probe answers with fixed numbers; what was asked is kept.
class FakeProbe final : public v1::ProbeService::Service {
 public:
  grpc::Status ProbePermutation(grpc::ServerContext* context,
                                const v1::ProbePermutationRequest* request,
                                v1::ProbePermutationResponse* response) override;
  grpc::Status ProbeMasking(grpc::ServerContext* context, const v1::ProbeMaskingRequest* request,
                            v1::ProbeMaskingResponse* response) override;
  grpc::Status GetLayerProfile(grpc::ServerContext* context,
                               const v1::GetLayerProfileRequest* request,
                               v1::GetLayerProfileResponse* response) override;
  grpc::Status GetPositionSimilarity(grpc::ServerContext* context,
                                     const v1::GetPositionSimilarityRequest* request,
                                     v1::GetPositionSimilarityResponse* response) override;

  // The last of each kind; read them only when no call runs.
  v1::ProbePermutationRequest permutation;
  v1::ProbeMaskingRequest masking;
  v1::GetLayerProfileRequest profile;
  v1::GetPositionSimilarityRequest similarity;
};

}  // namespace heed::testing
