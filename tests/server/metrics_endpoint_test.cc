#include "server/metrics_endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/numbers.h"
#include "gtest/gtest.h"

namespace heed {
namespace {

// What an HTTP/1.0 GET of `path` answers, headers included.
std::string Get(const std::string& address, const std::string& path) {
  int port = 0;
  if (!absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port)) return "";
  sockaddr_in target{};
  target.sin_family = AF_INET;
  target.sin_port = htons(static_cast<uint16_t>(port));
  target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
  std::string answer;
  if (connect(socket_fd, reinterpret_cast<sockaddr*>(&target), sizeof(target)) == 0) {
    const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
    if (write(socket_fd, request.data(), request.size()) == static_cast<ssize_t>(request.size())) {
      char chunk[4096];
      ssize_t count = 0;
      while ((count = read(socket_fd, chunk, sizeof(chunk))) > 0) {
        answer.append(chunk, static_cast<size_t>(count));
      }
    }
  }
  close(socket_fd);
  return answer;
}

TEST(MetricsEndpointTest, ServesTheRegistryOnAFreePort) {
  Metrics metrics({"/s/A"});
  const auto endpoint = MetricsEndpoint::Start("127.0.0.1:0", metrics);
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  const std::string answer = Get((*endpoint)->address(), "/metrics");
  EXPECT_EQ(answer.rfind("HTTP/1.1 200", 0), 0u) << answer.substr(0, 200);
  EXPECT_NE(answer.find("heed_requests_total{code=\"OK\",method=\"/s/A\"} 0"), std::string::npos);
  EXPECT_NE(answer.find("process_resident_memory_bytes "), std::string::npos);
  EXPECT_NE(Get((*endpoint)->address(), "/other").find(" 404 "), std::string::npos);
}

TEST(MetricsEndpointTest, PortInUseIsAnError) {
  Metrics metrics({});
  const auto first = MetricsEndpoint::Start("127.0.0.1:0", metrics);
  ASSERT_TRUE(first.ok());
  const auto second = MetricsEndpoint::Start((*first)->address(), metrics);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(second.status().message().find((*first)->address()), absl::string_view::npos);
}

}  // namespace
}  // namespace heed
