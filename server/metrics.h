// Every number the server reports about itself. All series exist, at 0, before the first request,
// and no request can add one: labels come from fixed lists, and what is not on a list counts as
// "unknown".
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "model/api/model_info.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

namespace heed {

// What one model's scheduler reports. The pointers live as long as the Metrics they come from.
struct ModelMetrics {
  prometheus::Gauge* queue_texts = nullptr;
  prometheus::Gauge* queue_tokens = nullptr;
  prometheus::Counter* computed_texts = nullptr;
  prometheus::Counter* computed_tokens = nullptr;
  prometheus::Histogram* batch_texts = nullptr;
  prometheus::Histogram* batch_tokens = nullptr;
  prometheus::Histogram* queue_seconds = nullptr;
  prometheus::Histogram* compute_seconds = nullptr;
  prometheus::Counter* cancelled = nullptr;
  prometheus::Counter* rejected = nullptr;
  prometheus::Counter* expired_deadline = nullptr;
  prometheus::Counter* expired_queue_timeout = nullptr;
  prometheus::Counter* failed_batches = nullptr;
  prometheus::Counter* non_finite = nullptr;
};

// What streams of attention report, of all models together.
struct AttentionMetrics {
  prometheus::Counter* bytes = nullptr;
  prometheus::Counter* tiles = nullptr;
  prometheus::Gauge* streams = nullptr;
  prometheus::Gauge* reserved_bytes = nullptr;
  prometheus::Counter* cancelled = nullptr;
  prometheus::Counter* stalled = nullptr;
};

// Safe to call from many threads at once.
class Metrics {
 public:
  // `methods`: every RPC as "/package.Service/Method"; "unknown" is added.
  explicit Metrics(const std::vector<std::string>& methods);

  // Counts one finished request of `method`, which may be any string.
  void CountRequest(absl::string_view method, absl::StatusCode code, absl::Duration duration);

  // Creates the series of a model. `name` comes from the operator, never from a request.
  ModelMetrics AddModel(const std::string& name, const ModelInfo& info);

  const AttentionMetrics& attention() const { return attention_; }

  std::shared_ptr<prometheus::Registry> registry() const { return registry_; }

 private:
  struct MethodSeries {
    std::vector<prometheus::Counter*> by_code;  // 0 … 16
    prometheus::Histogram* duration = nullptr;
  };

  void AddMethod(const std::string& method);

  std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Histogram>& durations_;
  const AttentionMetrics attention_;
  std::map<std::string, MethodSeries, std::less<>> methods_;  // fixed once constructed
};

// Reads the memory the process occupies, when asked. Register beside Metrics::registry().
class ProcessMetrics : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

// "OK", "INVALID_ARGUMENT", … for 0 … 16.
const std::vector<std::string>& CodeNames();

}  // namespace heed
