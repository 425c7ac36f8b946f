#include "server/probe_waves.h"

#include <utility>
#include <vector>

#include "server/service_requests.h"

namespace heed {
namespace {

constexpr size_t kWaveTokens = 4096;
constexpr size_t kWaveTexts = 64;

void Step(const std::shared_ptr<ProbeWaves>& waves, size_t first) {
  if (first == waves->count) return waves->done(absl::OkStatus());
  if (absl::Status alive = CheckAlive(waves->context, *waves->call); !alive.ok()) {
    return waves->done(alive);
  }
  Job job;
  job.deadline = waves->call->deadline;
  job.cancel = waves->call->cancel;
  size_t tokens = 0;
  while (first + job.texts.size() < waves->count && job.texts.size() < kWaveTexts) {
    if (!job.texts.empty() && tokens + job.texts.back().size() > kWaveTokens) break;
    job.texts.push_back(waves->make(first + job.texts.size()));
    tokens += job.texts.back().size();
  }
  job.wants.assign(job.texts.size(), waves->wants);
  job.done = [waves, first](JobResult result) {
    if (!result.status.ok()) return waves->done(result.status);
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
  if (!status.ok()) waves->done(status);
}

}  // namespace

void RunWaves(ProbeWaves waves) { Step(std::make_shared<ProbeWaves>(std::move(waves)), 0); }

}  // namespace heed
