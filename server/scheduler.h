// Decides when texts are computed: the seam between request handlers, which have a text and want
// its scores, and a model, which computes batches.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "model/api/batch.h"
#include "model/api/runner.h"
#include "server/batch_policy.h"
#include "server/cancel_token.h"
#include "server/clock.h"
#include "server/metrics.h"

namespace heed {

// What is wanted of a text besides logits and scores; as Wants, for one text.
struct TextWants {
  std::vector<CaptureRequest> captures;  // CaptureRequest::text is filled in by the scheduler
  std::optional<Importance> importance;
  bool last_hidden_state = false;
};

// One text's share of what its batch gave.
struct ItemResult {
  std::vector<float> logits;  // [C]
  std::vector<float> scores;  // [C]
  // Models that label tokens: [n, C], special tokens included, and logits and scores are empty.
  std::vector<float> token_logits;
  std::vector<float> token_scores;
  // As many as TextWants::captures, in their order.
  std::vector<std::shared_ptr<const AttentionSource>> captures;
  std::vector<float> importance;         // [n], if wanted
  std::vector<float> last_hidden_state;  // [n, D], if wanted
  absl::Duration queue;                  // from submission to the start of its batch
  absl::Duration compute;                // of its batch
};

struct JobResult {
  // All or nothing: OK only when every text was computed.
  absl::Status status;
  // The text at fault, where one text is.
  std::optional<size_t> failed_item;
  // In the order of the texts; meaningful only when OK.
  std::vector<ItemResult> items;
};

// The texts of one request.
struct Job {
  std::vector<TokenIds> texts;  // at least one
  // As many as texts, or empty: nothing but logits and scores of any. What one text wants never
  // changes another's result.
  std::vector<TextWants> wants;
  absl::Time deadline = absl::InfiniteFuture();
  std::shared_ptr<CancelToken> cancel;  // may be null
  // Called exactly once if Submit returns OK, on a thread of the scheduler or the one that
  // cancels, without locks held. Must be quick and must not throw.
  std::function<void(JobResult)> done;
};

// Safe to call from many threads at once.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // Accepts all texts of the job or none. Errors, after which `done` is never called:
  // RESOURCE_EXHAUSTED QUEUE_FULL (metadata retryDelay), INVALID_ARGUMENT REQUEST_TOO_LARGE,
  // UNAVAILABLE DRAINING.
  //
  // `done` gets OK, or DEADLINE_EXCEEDED, UNAVAILABLE QUEUE_TIMEOUT, CANCELLED, INTERNAL
  // NON_FINITE (with failed_item), or whatever the model failed with.
  virtual absl::Status Submit(Job job) = 0;

  // The most tokens that a job may have.
  virtual size_t max_job_tokens() const = 0;

  // From now on no text waits for company; new jobs are still accepted.
  virtual void StopWaiting() = 0;

  // Refuses new jobs, finishes accepted ones, and returns when the last is done.
  virtual void Drain() = 0;
};

// One queue and one compute thread for one model. A job larger than a batch runs in several; a
// batch may mix jobs, and its failure fails only the jobs with a text in it.
class BatchScheduler : public Scheduler {
 public:
  struct Limits {
    BatchLimits batch;
    // Tokens that may wait at once.
    size_t max_queue_tokens = 1 << 20;
  };

  // `runner` and `clock` outlive the scheduler.
  BatchScheduler(const Runner* runner, Clock* clock, Limits limits, ModelMetrics metrics);
  // Drains.
  ~BatchScheduler() override;

  absl::Status Submit(Job job) override;
  size_t max_job_tokens() const override { return limits_.max_queue_tokens; }
  void StopWaiting() override;
  void Drain() override;

 private:
  struct Pending {
    Job job;
    JobResult result;
    absl::Time enqueued;
    size_t remaining = 0;
    bool started = false;
    bool finished = false;
  };
  using PendingPtr = std::shared_ptr<Pending>;
  struct Entry {
    PendingPtr pending;
    size_t item = 0;
    size_t tokens = 0;
  };
  // Callbacks to run once the lock is released.
  using Finished = std::vector<std::pair<std::function<void(JobResult)>, JobResult>>;

  bool Woken() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return woken_; }
  void Loop();
  // Looks at the queue once: removes what expired and what runs now. Returns when to look again.
  absl::Time Look(std::vector<Entry>& batch, Finished& finished);
  void RunBatch(std::vector<Entry> batch);
  void Scatter(const std::vector<Entry>& batch, std::vector<ItemResult> items, absl::Time start,
               Finished& finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish(const PendingPtr& pending, absl::Status status, std::optional<size_t> failed_item,
              Finished& finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the waiting texts of finished jobs out of the queue; returns how many.
  size_t Sweep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Cancel(const PendingPtr& pending);
  void UpdateGauges() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Duration RetryDelay() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Notify(Finished finished);

  const Runner& runner_;
  Clock& clock_;
  const Limits limits_;
  const ModelMetrics metrics_;

  absl::Mutex mutex_;
  std::deque<Entry> queue_ ABSL_GUARDED_BY(mutex_);
  size_t queued_tokens_ ABSL_GUARDED_BY(mutex_) = 0;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool hurrying_ ABSL_GUARDED_BY(mutex_) = false;
  // Of the latest batches, smoothed; 0: not known yet.
  double tokens_per_second_ ABSL_GUARDED_BY(mutex_) = 0;

  absl::Mutex join_mutex_;
  std::thread thread_ ABSL_GUARDED_BY(join_mutex_);
};

}  // namespace heed
