#include "server/metrics.h"

#include <unistd.h>

#include <fstream>

namespace heed {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using Buckets = prometheus::Histogram::BucketBoundaries;

constexpr char kUnknown[] = "unknown";

const Buckets& DurationBuckets() {
  static const Buckets* const buckets =
      new Buckets{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                  0.1,    0.25,    0.5,    1,     2.5,    5,     10,   30};
  return *buckets;
}

const Buckets& CountBuckets(size_t largest) {
  static const Buckets* const texts = new Buckets{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  static const Buckets* const tokens =
      new Buckets{16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
  return largest > 1024 ? *tokens : *texts;
}

prometheus::Counter* AddCounter(prometheus::Registry& registry, const char* name, const char* help,
                                const prometheus::Labels& labels) {
  return &BuildCounter().Name(name).Help(help).Register(registry).Add(labels);
}

prometheus::Gauge* AddGauge(prometheus::Registry& registry, const char* name, const char* help,
                            const prometheus::Labels& labels) {
  return &BuildGauge().Name(name).Help(help).Register(registry).Add(labels);
}

prometheus::Histogram* AddHistogram(prometheus::Registry& registry, const char* name,
                                    const char* help, const prometheus::Labels& labels,
                                    const Buckets& buckets) {
  return &BuildHistogram().Name(name).Help(help).Register(registry).Add(labels, buckets);
}

AttentionMetrics AddAttention(prometheus::Registry& r) {
  AttentionMetrics m;
  m.bytes =
      AddCounter(r, "heed_attention_bytes_total", "Bytes of attention weights made to send", {});
  m.tiles = AddCounter(r, "heed_attention_tiles_total", "Tiles of attention made to send", {});
  m.streams = AddGauge(r, "heed_attention_streams_active", "GetAttention calls that send", {});
  m.reserved_bytes = AddGauge(r, "heed_attention_reserved_bytes",
                              "Memory set aside for the attention of running calls", {});
  m.cancelled = AddCounter(r, "heed_attention_cancelled_total",
                           "GetAttention calls whose client left while they sent", {});
  m.stalled = AddCounter(r, "heed_attention_stalled_total",
                         "GetAttention calls ended because their client did not read", {});
  return m;
}

}  // namespace

const std::vector<std::string>& CodeNames() {
  static const auto* const names = [] {
    auto* result = new std::vector<std::string>;
    for (int code = 0; code <= 16; ++code) {
      result->push_back(absl::StatusCodeToString(static_cast<absl::StatusCode>(code)));
    }
    return result;
  }();
  return *names;
}

Metrics::Metrics(const std::vector<std::string>& methods)
    : requests_(BuildCounter()
                    .Name("heed_requests_total")
                    .Help("Finished RPCs by method and status code")
                    .Register(*registry_)),
      durations_(BuildHistogram()
                     .Name("heed_request_duration_seconds")
                     .Help("Time from a request's arrival to its answer")
                     .Register(*registry_)),
      attention_(AddAttention(*registry_)) {
  for (const std::string& method : methods) AddMethod(method);
  AddMethod(kUnknown);
}

void Metrics::AddMethod(const std::string& method) {
  MethodSeries series;
  for (const std::string& code : CodeNames()) {
    series.by_code.push_back(&requests_.Add({{"method", method}, {"code", code}}));
  }
  series.duration = &durations_.Add({{"method", method}}, DurationBuckets());
  methods_.emplace(method, std::move(series));
}

void Metrics::CountRequest(absl::string_view method, absl::StatusCode code,
                           absl::Duration duration) {
  auto found = methods_.find(std::string(method));
  if (found == methods_.end()) found = methods_.find(kUnknown);
  size_t index = static_cast<size_t>(code);
  if (index >= found->second.by_code.size())
    index = static_cast<size_t>(absl::StatusCode::kUnknown);
  found->second.by_code[index]->Increment();
  found->second.duration->Observe(absl::ToDoubleSeconds(duration));
}

ModelMetrics Metrics::AddModel(const std::string& name, const ModelInfo& info) {
  prometheus::Registry& r = *registry_;
  const prometheus::Labels model{{"model", name}};
  const auto with = [&](const char* label, const char* value) {
    return prometheus::Labels{{"model", name}, {label, value}};
  };
  const char* const memory = "heed_model_memory_bytes";
  const char* const memory_help = "Memory a model holds: its weights, and copies packed for speed";
  AddGauge(r, memory, memory_help, with("kind", "weights"))
      ->Set(static_cast<double>(info.weights_bytes));
  AddGauge(r, memory, memory_help, with("kind", "packed"))
      ->Set(static_cast<double>(info.packed_bytes));
  const char* const expired = "heed_expired_texts_total";
  const char* const expired_help = "Texts dropped before compute because their time was up";
  ModelMetrics m;
  m.queue_texts = AddGauge(r, "heed_queue_texts", "Texts waiting for compute", model);
  m.queue_tokens = AddGauge(r, "heed_queue_tokens", "Tokens waiting for compute", model);
  m.computed_texts = AddCounter(r, "heed_computed_texts_total", "Texts computed", model);
  m.computed_tokens = AddCounter(r, "heed_computed_tokens_total", "Tokens computed", model);
  m.batch_texts =
      AddHistogram(r, "heed_batch_texts", "Texts of a batch", model, CountBuckets(1024));
  m.batch_tokens =
      AddHistogram(r, "heed_batch_tokens", "Tokens of a batch", model, CountBuckets(32768));
  m.queue_seconds = AddHistogram(r, "heed_queue_duration_seconds", "Time a text waits for compute",
                                 model, DurationBuckets());
  m.compute_seconds = AddHistogram(r, "heed_compute_duration_seconds", "Time a batch computes",
                                   model, DurationBuckets());
  m.cancelled = AddCounter(r, "heed_cancelled_texts_total",
                           "Texts dropped before compute because the client cancelled", model);
  m.rejected =
      AddCounter(r, "heed_rejected_texts_total", "Texts refused because the queue was full", model);
  m.expired_deadline = AddCounter(r, expired, expired_help, with("reason", "deadline"));
  m.expired_queue_timeout = AddCounter(r, expired, expired_help, with("reason", "queue_timeout"));
  m.failed_batches = AddCounter(r, "heed_failed_batches_total", "Batches that failed", model);
  m.non_finite = AddCounter(r, "heed_non_finite_texts_total",
                            "Texts whose result was not a finite number", model);
  return m;
}

std::vector<prometheus::MetricFamily> ProcessMetrics::Collect() const {
  std::ifstream statm("/proc/self/statm");
  double total_pages = 0;
  double resident_pages = 0;
  if (!(statm >> total_pages >> resident_pages)) return {};
  prometheus::MetricFamily family;
  family.name = "process_resident_memory_bytes";
  family.help = "Resident memory of the process";
  family.type = prometheus::MetricType::Gauge;
  family.metric.emplace_back();
  family.metric.back().gauge.value = resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE));
  return {family};
}

}  // namespace heed
