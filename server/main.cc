// heed-server: the only place that sees both the service and LibTorch. Reads options, listens,
// loads and warms up the models, serves, drains.
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "google/protobuf/stubs/logging.h"
#include "model/engine.h"
#include "server/byte_budget.h"
#include "server/clock.h"
#include "server/lifecycle.h"
#include "server/logging.h"
#include "server/metrics.h"
#include "server/metrics_endpoint.h"
#include "server/options.h"
#include "server/scheduler.h"
#include "server/served_model.h"
#include "server/service_call.h"
#include "server/service_server.h"
#include "server/service_transport.h"
#include "server/thread_pool.h"
#include "server/timer_queue.h"
#include "spdlog/spdlog.h"

namespace heed {
namespace {

constexpr int kStartUpError = 1;
constexpr int kDrainTimedOut = 1;
constexpr int kStoppedBySecondSignal = 130;
constexpr int kPoolThreads = 2;
constexpr size_t kPoolBytes = size_t{256} << 20;
// How long calls that are refused during a drain may take to hear so.
constexpr absl::Duration kShutdownGrace = absl::Seconds(1);

sigset_t StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

// Blocks the signals in every thread there will be, so that they wait for `Signals`. Runs before
// the initialisers of the shared libraries, which take a tenth of a second: the first process of a
// container would lose a SIGTERM that comes before someone waits for it.
void BlockStopSignals(int, char**, char**) {
  const sigset_t set = StopSignals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
}
__attribute__((section(".preinit_array"),
               used)) void (*const block_stop_signals)(int, char**, char**) = BlockStopSignals;

// Turns the first SIGTERM or SIGINT into a notification and the second into an exit.
class Signals {
 public:
  Signals() {
    std::thread([this] {
      int signal = 0;
      sigwait(&set_, &signal);
      stop_.Notify();
      sigwait(&set_, &signal);
      _exit(kStoppedBySecondSignal);
    }).detach();
  }

  bool stopped() const { return stop_.HasBeenNotified(); }
  void Await() const { stop_.WaitForNotification(); }

 private:
  const sigset_t set_ = StopSignals();
  absl::Notification stop_;
};

// protobuf complains to standard error about each string that is not UTF-8; the client is told,
// and a log line a request would be a way to fill a disk.
void QuietProtobuf(google::protobuf::LogLevel, const char*, int, const std::string& message) {
  spdlog::debug("protobuf: {}", message);
}

void LogConfiguration(const ParsedOptions& parsed) {
  for (const EffectiveValue& value : parsed.effective) {
    spdlog::info("config {} = {} ({})", value.name, value.value.empty() ? "-" : value.value,
                 value.source);
  }
}

absl::Status AddModel(const ModelSource& source, const Options& options, Clock& clock,
                      Metrics& metrics, ModelRegistry& registry) {
  const absl::Time start = clock.Now();
  LoadOptions load_options;
  load_options.device = options.device;
  load_options.precision = options.precision;
  absl::StatusOr<LoadedModel> model = LoadModel(source.path, load_options);
  if (!model.ok()) return model.status();
  for (const std::string& note : model->notes) spdlog::warn("model {}: {}", source.name, note);
  const absl::Time loaded = clock.Now();
  const absl::Status status = WarmUp(*model);
  if (!status.ok()) return status;
  const ModelInfo& info = model->info();
  spdlog::info(
      "model {} from {}: {}, {} parameters, {} labels, version {}; loaded in {}, warm in {}",
      source.name, source.path, info.architecture, info.parameter_count, info.labels.size(),
      info.version, absl::FormatDuration(loaded - start),
      absl::FormatDuration(clock.Now() - loaded));
  auto served = std::make_unique<ServedModel>();
  served->name = source.name;
  served->scheduler = std::make_unique<BatchScheduler>(
      model->runner.get(), &clock, options.scheduler, metrics.AddModel(source.name, info));
  served->model = *std::move(model);
  registry.Add(std::move(served));
  return absl::OkStatus();
}

int Fail(const absl::Status& status) {
  spdlog::error("{}", std::string(status.message()));
  return kStartUpError;
}

// Health first, so that nobody sends more; then refuse, finish, and stop.
int Drain(const Options& options, Clock& clock, Lifecycle& lifecycle, ModelRegistry& registry,
          RpcServer& server) {
  spdlog::info("draining, at most {}", absl::FormatDuration(options.drain_timeout));
  server.SetHealth(false);
  lifecycle.SetDraining();
  registry.StopWaiting();
  if (!lifecycle.AwaitIdle(clock.Now() + options.drain_timeout)) {
    spdlog::error("requests were still running after {}",
                  absl::FormatDuration(options.drain_timeout));
    // A batch that does not end would hold up every destructor.
    _exit(kDrainTimedOut);
  }
  server.Shutdown(kShutdownGrace);
  registry.Drain();
  spdlog::info("drained");
  return EXIT_SUCCESS;
}

int Serve(const Options& options, const Signals& signals) {
  const absl::StatusOr<std::vector<ModelSource>> sources = ListModelSources(options);
  if (!sources.ok()) return Fail(sources.status());
  RealClock clock;
  Metrics metrics(MethodPaths());
  Lifecycle lifecycle(&clock);
  ThreadPool pool(kPoolThreads, kPoolBytes);  // outlives the schedulers, which hand it replies
  ModelRegistry registry;
  TimerQueue timers(&clock);
  ByteBudget attention_memory(options.max_attention_memory, metrics.attention().reserved_bytes);
  const ServiceContext context{
      &clock,
      &metrics,
      &lifecycle,
      &registry,
      &pool,
      {options.max_texts_per_request, options.max_text_bytes, options.max_message_bytes,
       options.max_attention_bytes, options.attention_stall_timeout},
      &attention_memory,
      &timers};

  auto server = RpcServer::Start({options.listen}, context);
  if (!server.ok()) return Fail(server.status());
  std::unique_ptr<MetricsEndpoint> endpoint;
  if (!options.metrics_listen.empty()) {
    auto started = MetricsEndpoint::Start(options.metrics_listen, metrics);
    if (!started.ok()) return Fail(started.status());
    endpoint = *std::move(started);
  }
  SetComputeThreads(options.threads);
  for (const ModelSource& source : *sources) {
    const absl::Status status = AddModel(source, options, clock, metrics, registry);
    if (!status.ok()) {
      spdlog::error("cannot serve model {} from {}", source.name, source.path);
      return Fail(status);
    }
    if (signals.stopped()) return EXIT_SUCCESS;
  }
  lifecycle.SetServing();
  (*server)->SetHealth(true);
  std::cout << "listening on " << (*server)->address() << std::endl;
  if (endpoint != nullptr) std::cout << "metrics on " << endpoint->address() << std::endl;
  signals.Await();
  return Drain(options, clock, lifecycle, registry, **server);
}

int Main(int argc, char** argv) {
  const Signals signals;
  const ParsedOptions parsed = ParseOptions(argc, argv);
  if (parsed.exit_code) {
    (*parsed.exit_code == 0 ? std::cout : std::cerr) << parsed.text << std::flush;
    return *parsed.exit_code;
  }
  SetUpLogging(parsed.options.log_level, parsed.options.log_format);
  google::protobuf::SetLogHandler(QuietProtobuf);
  spdlog::info("heed-server with LibTorch {}", LibTorchVersion());
  LogConfiguration(parsed);
  return Serve(parsed.options, signals);
}

}  // namespace
}  // namespace heed

int main(int argc, char** argv) { return heed::Main(argc, argv); }
