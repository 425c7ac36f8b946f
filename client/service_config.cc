#include "client/service_config.h"

namespace heed {

const char kServiceConfig[] = R"json({
  "loadBalancingConfig": [{"round_robin": {}}],
  "methodConfig": [
    {
      "name": [
        {"service": "heed.v1.ClassificationService", "method": "Classify"},
        {"service": "heed.v1.ModelService", "method": "ListModels"},
        {"service": "heed.v1.ModelService", "method": "GetModel"},
        {"service": "heed.v1.ModelService", "method": "Tokenize"},
        {"service": "heed.v1.AttentionService", "method": "GetAttention"},
        {"service": "heed.v1.ProbeService"}
      ],
      "retryPolicy": {
        "maxAttempts": 5,
        "initialBackoff": "0.1s",
        "maxBackoff": "2s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"]
      }
    }
  ],
  "retryThrottling": {"maxTokens": 100, "tokenRatio": 0.1}
})json";

}  // namespace heed
