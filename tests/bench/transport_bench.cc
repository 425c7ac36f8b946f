// Compares gRPC's callback and completion-queue APIs on unary Classify of one short text with a
// model that computes next to nothing. Runs of the two alternate, so that a busy machine hits both
// alike; the medians and their ratio are printed.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "grpcpp/create_channel.h"
#include "heed/v1/classification.grpc.pb.h"
#include "server/clock.h"
#include "server/service_handlers.h"
#include "server/service_server.h"
#include "server/service_transport.h"
#include "tests/bench/completion_queue_service.h"
#include "tests/fakes/fake_model.h"

namespace heed {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr char kClassify[] = "/heed.v1.ClassificationService/Classify";
constexpr int kRounds = 9;

struct Figures {
  std::vector<double> p50_micros;
  std::vector<double> calls_per_second;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// `concurrency` closed loops on one channel each, for `calls` calls in all.
void RunOnce(const std::string& address, int concurrency, int calls, Figures& figures) {
  std::vector<std::vector<double>> latencies(static_cast<size_t>(concurrency));
  std::vector<std::thread> threads;
  const auto start = SteadyClock::now();
  for (auto& mine : latencies) {
    threads.emplace_back([&, calls = calls / concurrency] {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      const auto stub = v1::ClassificationService::NewStub(
          grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
      v1::ClassifyRequest request;
      request.add_inputs()->set_text("a short sentence of eight words or so");
      for (int i = 0; i < calls; ++i) {
        grpc::ClientContext context;
        v1::ClassifyResponse response;
        const auto before = SteadyClock::now();
        if (!stub->Classify(&context, request, &response).ok()) std::abort();
        mine.push_back(
            std::chrono::duration<double, std::micro>(SteadyClock::now() - before).count());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = std::chrono::duration<double>(SteadyClock::now() - start).count();
  std::vector<double> all;
  for (const auto& mine : latencies) all.insert(all.end(), mine.begin(), mine.end());
  figures.p50_micros.push_back(Median(all));
  figures.calls_per_second.push_back(static_cast<double>(all.size()) / seconds);
}

void Compare(const std::string& callback, const std::string& queue, int concurrency, int calls) {
  Figures ignored;
  RunOnce(callback, concurrency, calls, ignored);
  RunOnce(queue, concurrency, calls, ignored);
  Figures by_callback;
  Figures by_queue;
  for (int round = 0; round < kRounds; ++round) {
    RunOnce(callback, concurrency, calls, by_callback);
    RunOnce(queue, concurrency, calls, by_queue);
  }
  std::printf(
      "concurrency %2d: callback p50 %7.1f us %8.0f calls/s | completion queue p50 %7.1f us "
      "%8.0f calls/s | p50 ratio %.2f, calls/s ratio %.2f\n",
      concurrency, Median(by_callback.p50_micros), Median(by_callback.calls_per_second),
      Median(by_queue.p50_micros), Median(by_queue.calls_per_second),
      Median(by_callback.p50_micros) / Median(by_queue.p50_micros),
      Median(by_callback.calls_per_second) / Median(by_queue.calls_per_second));
}

int Main() {
  RealClock clock;
  Metrics metrics(MethodPaths());
  Lifecycle lifecycle(&clock);
  ModelRegistry registry;
  ThreadPool pool(1, 1 << 20);
  auto runner = std::make_shared<FakeRunner>();
  // Keeping every batch would measure the allocator.
  runner->SetRecording(false);
  auto model = std::make_unique<ServedModel>();
  model->name = "fake";
  model->model = {std::make_shared<FakeTokenizer>(), runner, {}};
  model->scheduler = std::make_unique<BatchScheduler>(
      runner.get(), &clock, BatchScheduler::Limits{}, metrics.AddModel("fake", runner->info()));
  registry.Add(std::move(model));
  lifecycle.SetServing();
  const ServiceContext context{&clock, &metrics, &lifecycle, &registry, &pool, {}};

  auto callback = RpcServer::Start(RpcServerOptions{}, context);
  if (!callback.ok()) return EXIT_FAILURE;
  const HandlerMap handlers = MakeHandlers(context);
  const int threads = static_cast<int>(std::max(2u, std::thread::hardware_concurrency()));
  CompletionQueueServer queue(context, kClassify, handlers.at(kClassify), threads);
  Compare((*callback)->address(), queue.address(), 1, 3000);
  Compare((*callback)->address(), queue.address(), 32, 12800);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace heed

int main() { return heed::Main(); }
