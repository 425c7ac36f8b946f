// The RPCs this server implements. What is not in the map answers UNIMPLEMENTED.
#pragma once

#include "server/service_call.h"

namespace heed {

// heed.v1.AttentionService: GetAttention. Adds nothing where `context` has no timers or memory for
// attention.
void AddAttentionHandlers(const ServiceContext& context, HandlerMap& handlers);

// heed.v1.ClassificationService: Classify.
void AddClassificationHandlers(const ServiceContext& context, HandlerMap& handlers);

// heed.v1.ModelService: ListModels, GetModel, Tokenize.
void AddModelHandlers(const ServiceContext& context, HandlerMap& handlers);

// heed.v1.ProbeService: ProbePermutation, ProbeMasking, GetPositionSimilarity; GetLayerProfile.
void AddProbeHandlers(const ServiceContext& context, HandlerMap& handlers);
void AddLayerProfileHandlers(const ServiceContext& context, HandlerMap& handlers);

// All of them, each handler inside Instrumented.
HandlerMap MakeHandlers(const ServiceContext& context);

}  // namespace heed
