#include "client/commands/health.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/commands/exit_code.h"
#include "client/render/json.h"
#include "client/render/text.h"

namespace heed::cli {
namespace {

using grpc::health::v1::HealthCheckResponse;

constexpr absl::Duration kPollInterval = absl::Milliseconds(200);

bool Serves(const absl::StatusOr<HealthCheckResponse>& response) {
  return response.ok() && response->status() == HealthCheckResponse::SERVING;
}

// The last answer: the first that serves, or the one when time is up.
absl::StatusOr<HealthCheckResponse> Poll(const HealthCommand& command, const Client& client,
                                         const Io& io) {
  const absl::Time give_up = io.now() + command.wait;
  while (true) {
    CallOptions call;
    if (command.wait > absl::ZeroDuration()) {
      // A call that hangs must not outlive the wait by a whole timeout.
      call.deadline = std::min(std::max(give_up - io.now(), kPollInterval), command.timeout);
    }
    absl::StatusOr<HealthCheckResponse> response = client.CheckHealth(command.service, call);
    const absl::Duration left = give_up - io.now();
    if (Serves(response) || left <= absl::ZeroDuration()) return response;
    io.sleep(std::min(kPollInterval, left));
  }
}

}  // namespace

int RunHealth(const HealthCommand& command, const Client& client, Io& io) {
  const absl::StatusOr<HealthCheckResponse> response = Poll(command, client, io);
  if (!response.ok()) {
    // The health service is gRPC's and gives no reasons: an unknown name is all NOT_FOUND can mean.
    const bool unknown = response.status().code() == absl::StatusCode::kNotFound;
    PrintError(unknown ? absl::StrCat("NOT_FOUND: the server knows no service \"",
                                      Escape(command.service), "\"")
                       : DescribeError(response.status(), client.target(), command.timeout),
               io);
    return Finish(ExitCodeFor(response.status()), io);
  }
  const std::string status = HealthCheckResponse::ServingStatus_Name(response->status());
  if (command.json) {
    *io.out << HealthJson(command.service, status) << '\n';
  } else {
    *io.out << Paint(status, Serves(response) ? Color::kGreen : Color::kRed, command.style) << '\n';
  }
  return Finish(Serves(response) ? kSuccess : kRefused, io);
}

}  // namespace heed::cli
