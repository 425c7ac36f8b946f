// Values of the model and the scheduler as messages of heed.v1.
#pragma once

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "google/protobuf/duration.pb.h"
#include "heed/v1/classification.pb.h"
#include "heed/v1/common.pb.h"
#include "heed/v1/model.pb.h"
#include "model/api/model_info.h"
#include "model/api/tokenizer.h"
#include "server/entities.h"
#include "server/scheduler.h"
#include "server/served_model.h"

namespace heed {

google::protobuf::Duration ToProto(absl::Duration duration);

v1::TokenUsage ToUsage(const TokenizedItem& item);

v1::Token ToProto(const TokenDetail& token);

v1::Model ToProto(const ServedModel& model, bool is_default);

// Fills labels with the `top_k` highest scores (0: all), best first, ties by label id, and logits
// if asked.
void FillClassification(const ModelInfo& info, const ItemResult& result, uint32_t top_k,
                        bool return_logits, v1::Classification& classification);

// The same for a model that labels tokens: fills entities, and token_logits if asked. tokens: as
// many as `result` has rows.
void FillTokenClassification(const ModelInfo& info, absl::Span<const TokenDetail> tokens,
                             const ItemResult& result, EntityAggregation aggregation,
                             bool return_logits, v1::Classification& classification);

// Fills tokens and token_importance. tokens: as many as `result` has importances.
void FillImportance(absl::Span<const TokenDetail> tokens, const ItemResult& result,
                    v1::Classification& classification);

}  // namespace heed
