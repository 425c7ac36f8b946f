// /metrics over HTTP, for Prometheus.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "prometheus/exposer.h"
#include "server/metrics.h"

namespace heed {

class MetricsEndpoint {
 public:
  // Serves the registry of `metrics` and the process's memory on `listen` (HOST:PORT, port 0:
  // any) until destroyed. UNAVAILABLE when the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(const std::string& listen,
                                                                const Metrics& metrics);

  // HOST:PORT, with the port that was bound.
  const std::string& address() const { return address_; }

 private:
  MetricsEndpoint() = default;

  std::shared_ptr<prometheus::Registry> registry_;
  std::shared_ptr<ProcessMetrics> process_ = std::make_shared<ProcessMetrics>();
  std::string address_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace heed
