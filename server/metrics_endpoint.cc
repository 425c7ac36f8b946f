#include "server/metrics_endpoint.h"

#include <exception>

#include "absl/strings/str_cat.h"
#include "model/api/error.h"

namespace heed {

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Start(const std::string& listen,
                                                                        const Metrics& metrics) {
  std::unique_ptr<MetricsEndpoint> endpoint(new MetricsEndpoint);
  endpoint->registry_ = metrics.registry();
  // The HTTP library throws where it cannot bind, and says no more than that.
  try {
    endpoint->exposer_ = std::make_unique<prometheus::Exposer>(listen);
  } catch (const std::exception&) {
    return MakeError(absl::StatusCode::kUnavailable, "CANNOT_LISTEN",
                     absl::StrCat("cannot listen on ", listen,
                                  ": the address is in use or not one of this machine"),
                     {{"address", listen}});
  }
  endpoint->exposer_->RegisterCollectable(endpoint->registry_);
  endpoint->exposer_->RegisterCollectable(endpoint->process_);
  const std::vector<int> ports = endpoint->exposer_->GetListeningPorts();
  endpoint->address_ =
      absl::StrCat(listen.substr(0, listen.rfind(':')), ":", ports.empty() ? 0 : ports.front());
  return endpoint;
}

}  // namespace heed
