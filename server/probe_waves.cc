#include "server/probe_waves.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "model/api/error.h"
#include "server/service_requests.h"

namespace heed {
namespace {

constexpr size_t kWaveTexts = 64;

// A text that is too large for the queue by itself: the scheduler knows no field of a probe.
absl::Status InProbe(const absl::Status& status, const std::string& field) {
  const ErrorDetail detail = GetErrorDetail(status);
  if (detail.reason != "REQUEST_TOO_LARGE") return status;
  return MakeError(status.code(), detail.reason, status.message(), detail.metadata, field);
}

void Step(const std::shared_ptr<ProbeWaves>& waves, size_t first) {
  if (first == waves->count) return waves->done(absl::OkStatus());
  if (absl::Status alive = CheckAlive(waves->context, *waves->call); !alive.ok()) {
    return waves->done(alive);
  }
  Job job;
  job.deadline = waves->call->deadline;
  job.cancel = waves->call->cancel;
  const size_t most_tokens = std::min(waves->max_tokens, waves->model->scheduler->max_job_tokens());
  size_t tokens = 0;
  while (first + job.texts.size() < waves->count && job.texts.size() < kWaveTexts) {
    if (!job.texts.empty() && tokens + job.texts.back().size() > most_tokens) break;
    job.texts.push_back(waves->make(first + job.texts.size()));
    tokens += job.texts.back().size();
  }
  job.wants.assign(job.texts.size(), waves->wants);
  job.done = [waves, first](JobResult result) {
    if (!result.status.ok()) {
      return waves->done(result.failed_item ? InField(result.status, waves->field) : result.status);
    }
    auto shared = std::make_shared<JobResult>(std::move(result));
    waves->context.pool->Submit([waves, first, shared] {
      for (size_t i = 0; i < shared->items.size(); ++i) {
        const absl::Status status = waves->take(first + i, shared->items[i]);
        if (!status.ok()) return waves->done(status);
      }
      Step(waves, first + shared->items.size());
    });
  };
  const absl::Status status = waves->model->scheduler->Submit(std::move(job));
  if (!status.ok()) waves->done(InProbe(status, waves->field));
}

}  // namespace

void RunWaves(ProbeWaves waves) { Step(std::make_shared<ProbeWaves>(std::move(waves)), 0); }

}  // namespace heed
