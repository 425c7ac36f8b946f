#include "server/scheduler.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/api/error.h"

namespace heed {
namespace {

constexpr absl::Duration kShortestRetryDelay = absl::Milliseconds(100);
constexpr absl::Duration kLongestRetryDelay = absl::Seconds(10);
// Weight of the latest batch in the smoothed throughput.
constexpr double kThroughputWeight = 0.2;

// A runner keeps to absl::Status; one that throws all the same must not take the server down.
absl::StatusOr<RunOutput> RunGuarded(const Runner& runner, const RaggedBatch& batch,
                                     const Wants& wants) {
  try {
    return runner.Run(batch, wants);
  } catch (const std::exception& error) {
    return MakeError(absl::StatusCode::kInternal, "COMPUTE_FAILED",
                     absl::StrCat("the model failed: ", error.what()));
  } catch (...) {
    return MakeError(absl::StatusCode::kInternal, "COMPUTE_FAILED", "the model failed");
  }
}

absl::Status BadOutput(absl::string_view message) {
  return MakeError(absl::StatusCode::kInternal, "BAD_MODEL_OUTPUT", message);
}

// What was asked for besides logits and scores is there.
absl::Status CheckExtras(const RunOutput& output, const RaggedBatch& batch, const Wants& wants,
                         const ModelInfo& info) {
  if (output.captures.size() != wants.captures.size()) {
    return BadOutput("the model did not give the attention that was asked for");
  }
  bool importance = output.importance.size() == wants.importance.size();
  for (size_t i = 0; importance && i < wants.importance.size(); ++i) {
    const auto text = static_cast<size_t>(wants.importance[i].text);
    importance = output.importance[i].size() == static_cast<size_t>(batch.length(text));
  }
  if (!importance) return BadOutput("the model did not give one importance a token");
  const size_t states =
      wants.last_hidden_state ? batch.token_count() * static_cast<size_t>(info.hidden_size) : 0;
  if (wants.last_hidden_state && output.last_hidden_state.size() != states) {
    return BadOutput("the model did not give one hidden state a token");
  }
  return absl::OkStatus();
}

absl::Status CheckShape(const RunOutput& output, const RaggedBatch& batch, const ModelInfo& info) {
  const bool tokens = info.labels_tokens();
  const size_t rows = tokens ? batch.token_count() : batch.text_count();
  const size_t expected = rows * info.labels.size();
  const size_t logits = (tokens ? output.token_logits : output.logits).size();
  const size_t scores = (tokens ? output.token_scores : output.scores).size();
  if (logits == expected && scores == expected) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInternal, "BAD_MODEL_OUTPUT",
                   absl::StrCat("the model gave ", logits, " logits and ", scores, " scores where ",
                                expected, " were due"),
                   {{"logits", absl::StrCat(logits)},
                    {"scores", absl::StrCat(scores)},
                    {"expected", absl::StrCat(expected)}});
}

bool AllFinite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

// Rows first … last-1.
std::vector<float> Rows(const std::vector<float>& matrix, size_t first, size_t last, size_t width) {
  return std::vector<float>(matrix.begin() + static_cast<std::ptrdiff_t>(first * width),
                            matrix.begin() + static_cast<std::ptrdiff_t>(last * width));
}

// What `output` says of each text of `batch`; CheckShape was OK.
std::vector<ItemResult> SplitOutput(const RunOutput& output, const RaggedBatch& batch,
                                    const ModelInfo& info) {
  const size_t labels = info.labels.size();
  std::vector<ItemResult> items(batch.text_count());
  for (size_t i = 0; i < items.size(); ++i) {
    if (info.labels_tokens()) {
      const auto first = static_cast<size_t>(batch.cu_seqlens[i]);
      const auto last = static_cast<size_t>(batch.cu_seqlens[i + 1]);
      items[i].token_logits = Rows(output.token_logits, first, last, labels);
      items[i].token_scores = Rows(output.token_scores, first, last, labels);
    } else {
      items[i].logits = Rows(output.logits, i, i + 1, labels);
      items[i].scores = Rows(output.scores, i, i + 1, labels);
    }
  }
  return items;
}

// Hands out what was wanted besides logits and scores; CheckExtras was OK.
void SplitExtras(RunOutput& output, const RaggedBatch& batch, const Wants& wants,
                 const std::vector<uint8_t>& wants_states, std::vector<ItemResult>& items) {
  for (size_t i = 0; i < wants.captures.size(); ++i) {
    items[static_cast<size_t>(wants.captures[i].text)].captures.push_back(
        std::move(output.captures[i]));
  }
  for (size_t i = 0; i < wants.importance.size(); ++i) {
    items[static_cast<size_t>(wants.importance[i].text)].importance =
        std::move(output.importance[i]);
  }
  if (!wants.last_hidden_state) return;
  const size_t width = output.last_hidden_state.size() / batch.token_count();
  for (size_t i = 0; i < items.size(); ++i) {
    if (!wants_states[i]) continue;
    items[i].last_hidden_state =
        Rows(output.last_hidden_state, static_cast<size_t>(batch.cu_seqlens[i]),
             static_cast<size_t>(batch.cu_seqlens[i + 1]), width);
  }
}

bool AllFinite(const ItemResult& item) {
  return AllFinite(item.logits) && AllFinite(item.scores) && AllFinite(item.token_logits) &&
         AllFinite(item.token_scores) && AllFinite(item.importance) &&
         AllFinite(item.last_hidden_state);
}

absl::Status ExpiryError(Expiry why, absl::Duration limit) {
  if (why == Expiry::kDeadline) {
    return MakeError(absl::StatusCode::kDeadlineExceeded, "DEADLINE_EXCEEDED",
                     "the client's deadline passed before the text was computed");
  }
  return MakeError(
      absl::StatusCode::kUnavailable, "QUEUE_TIMEOUT",
      absl::StrCat("the request waited longer than ", absl::FormatDuration(limit), " for compute"),
      {{"queueTimeout", absl::FormatDuration(limit)}});
}

absl::Status CancelledError() {
  return MakeError(absl::StatusCode::kCancelled, "CANCELLED", "the client cancelled the request");
}

}  // namespace

BatchScheduler::BatchScheduler(const Runner* runner, Clock* clock, Limits limits,
                               ModelMetrics metrics)
    : runner_(*runner), clock_(*clock), limits_(limits), metrics_(metrics), thread_([this] {
        Loop();
      }) {}

BatchScheduler::~BatchScheduler() { Drain(); }

absl::Status BatchScheduler::Submit(Job job) {
  auto pending = std::make_shared<Pending>();
  pending->remaining = job.texts.size();
  pending->result.items.resize(job.texts.size());
  size_t tokens = 0;
  for (const TokenIds& text : job.texts) tokens += text.size();
  const std::shared_ptr<CancelToken> cancel = job.cancel;
  const size_t count = job.texts.size();
  pending->job = std::move(job);
  if (tokens > limits_.max_queue_tokens) {
    return MakeError(
        absl::StatusCode::kInvalidArgument, "REQUEST_TOO_LARGE",
        absl::StrCat("the request has ", tokens, " tokens, the limit is ",
                     limits_.max_queue_tokens),
        {{"tokenCount", absl::StrCat(tokens)}, {"limit", absl::StrCat(limits_.max_queue_tokens)}},
        "inputs");
  }
  {
    absl::MutexLock lock(&mutex_);
    if (draining_) {
      return MakeError(absl::StatusCode::kUnavailable, "DRAINING", "the server is shutting down");
    }
    if (queued_tokens_ + tokens > limits_.max_queue_tokens) {
      metrics_.rejected->Increment(static_cast<double>(count));
      return MakeError(absl::StatusCode::kResourceExhausted, "QUEUE_FULL",
                       absl::StrCat("the queue holds ", queued_tokens_, " tokens; ", tokens,
                                    " more would pass the limit of ", limits_.max_queue_tokens),
                       {{"queuedTokens", absl::StrCat(queued_tokens_)},
                        {"tokenCount", absl::StrCat(tokens)},
                        {"limit", absl::StrCat(limits_.max_queue_tokens)},
                        {"retryDelay", absl::FormatDuration(RetryDelay())}});
    }
    pending->enqueued = clock_.Now();
    for (size_t i = 0; i < count; ++i) {
      queue_.push_back({pending, i, pending->job.texts[i].size()});
    }
    queued_tokens_ += tokens;
    woken_ = true;
    UpdateGauges();
  }
  // The token outlives the job, so it must not keep the job alive.
  if (cancel != nullptr) {
    cancel->OnCancel([this, weak = std::weak_ptr<Pending>(pending)] {
      if (const PendingPtr strong = weak.lock()) Cancel(strong);
    });
  }
  return absl::OkStatus();
}

void BatchScheduler::StopWaiting() {
  absl::MutexLock lock(&mutex_);
  hurrying_ = true;
  woken_ = true;
}

void BatchScheduler::Drain() {
  {
    absl::MutexLock lock(&mutex_);
    draining_ = true;
    hurrying_ = true;
    woken_ = true;
  }
  absl::MutexLock lock(&join_mutex_);
  if (thread_.joinable()) thread_.join();
}

void BatchScheduler::Cancel(const PendingPtr& pending) {
  Finished finished;
  {
    absl::MutexLock lock(&mutex_);
    if (pending->finished) return;
    // gRPC reports a deadline that passed as a cancellation too.
    const bool late = pending->job.deadline <= clock_.Now();
    Finish(pending,
           late ? ExpiryError(Expiry::kDeadline, limits_.batch.queue_timeout) : CancelledError(),
           std::nullopt, finished);
    (late ? metrics_.expired_deadline : metrics_.cancelled)
        ->Increment(static_cast<double>(Sweep()));
    woken_ = true;
    UpdateGauges();
  }
  Notify(std::move(finished));
}

void BatchScheduler::Loop() {
  absl::Time next_look = absl::InfiniteFuture();
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      clock_.AwaitUntil(mutex_, absl::Condition(this, &BatchScheduler::Woken), next_look);
      woken_ = false;
      if (draining_ && queue_.empty()) return;
    }
    std::vector<Entry> batch;
    Finished finished;
    next_look = Look(batch, finished);
    Notify(std::move(finished));
    if (!batch.empty()) RunBatch(std::move(batch));
    absl::MutexLock lock(&mutex_);
    // A drain may have begun, and the queue may have run dry, since the wait.
    if (draining_) woken_ = true;
  }
}

absl::Time BatchScheduler::Look(std::vector<Entry>& batch, Finished& finished) {
  absl::MutexLock lock(&mutex_);
  std::vector<QueuedText> view;
  view.reserve(queue_.size());
  for (const Entry& entry : queue_) {
    const Pending& pending = *entry.pending;
    view.push_back({entry.tokens, pending.enqueued, pending.job.deadline, pending.started});
  }
  BatchLimits limits = limits_.batch;
  // Little or nothing more will come, so nothing is worth waiting for.
  if (hurrying_) limits.max_queue_delay = absl::ZeroDuration();
  const BatchDecision decision = Decide(view, limits, clock_.Now());
  for (const ExpiredText& expired : decision.expired) {
    const PendingPtr& pending = queue_[expired.index].pending;
    (expired.why == Expiry::kDeadline ? metrics_.expired_deadline : metrics_.expired_queue_timeout)
        ->Increment();
    if (!pending->finished) {
      Finish(pending, ExpiryError(expired.why, limits.queue_timeout), std::nullopt, finished);
    }
  }
  for (const size_t index : decision.take) {
    Entry& entry = queue_[index];
    entry.pending->started = true;
    queued_tokens_ -= entry.tokens;
    batch.push_back(std::move(entry));
    entry.pending = nullptr;
  }
  Sweep();
  UpdateGauges();
  return decision.next_look;
}

void BatchScheduler::RunBatch(std::vector<Entry> batch) {
  RaggedBatch ragged;
  // A text is only ever read by the batch that took it, so its job needs no lock here.
  Wants wants;
  std::vector<uint8_t> wants_states;
  for (const Entry& entry : batch) {
    const Job& job = entry.pending->job;
    const auto text = static_cast<int64_t>(ragged.text_count());
    ragged.Append(job.texts[entry.item]);
    const TextWants text_wants = job.wants.empty() ? TextWants{} : job.wants[entry.item];
    for (CaptureRequest capture : text_wants.captures) {
      capture.text = text;
      wants.captures.push_back(std::move(capture));
    }
    if (text_wants.importance) wants.importance.push_back({text, *text_wants.importance});
    wants.last_hidden_state |= text_wants.last_hidden_state;
    wants_states.push_back(text_wants.last_hidden_state ? 1 : 0);
  }
  const absl::Time start = clock_.Now();
  absl::StatusOr<RunOutput> output = RunGuarded(runner_, ragged, wants);
  const absl::Duration compute = clock_.Now() - start;
  absl::Status status = output.status();
  if (status.ok()) status = CheckShape(*output, ragged, runner_.info());
  if (status.ok()) status = CheckExtras(*output, ragged, wants, runner_.info());
  std::vector<ItemResult> items;
  if (status.ok()) {
    items = SplitOutput(*output, ragged, runner_.info());
    SplitExtras(*output, ragged, wants, wants_states, items);
  }
  for (ItemResult& item : items) item.compute = compute;

  metrics_.batch_texts->Observe(static_cast<double>(batch.size()));
  metrics_.batch_tokens->Observe(static_cast<double>(ragged.token_count()));
  metrics_.compute_seconds->Observe(absl::ToDoubleSeconds(compute));
  Finished finished;
  {
    absl::MutexLock lock(&mutex_);
    if (status.ok()) {
      metrics_.computed_texts->Increment(static_cast<double>(batch.size()));
      metrics_.computed_tokens->Increment(static_cast<double>(ragged.token_count()));
      if (compute > absl::ZeroDuration()) {
        const double rate =
            static_cast<double>(ragged.token_count()) / absl::ToDoubleSeconds(compute);
        tokens_per_second_ =
            tokens_per_second_ == 0
                ? rate
                : tokens_per_second_ + kThroughputWeight * (rate - tokens_per_second_);
      }
      Scatter(batch, std::move(items), start, finished);
    } else {
      metrics_.failed_batches->Increment();
      for (const Entry& entry : batch) {
        if (!entry.pending->finished) Finish(entry.pending, status, std::nullopt, finished);
      }
    }
    if (Sweep() > 0) UpdateGauges();
  }
  Notify(std::move(finished));
}

void BatchScheduler::Scatter(const std::vector<Entry>& batch, std::vector<ItemResult> items,
                             absl::Time start, Finished& finished) {
  for (size_t row = 0; row < batch.size(); ++row) {
    Pending& pending = *batch[row].pending;
    ItemResult& item = items[row];
    item.queue = start - pending.enqueued;
    metrics_.queue_seconds->Observe(absl::ToDoubleSeconds(item.queue));
    const bool finite = AllFinite(item);
    if (!finite) metrics_.non_finite->Increment();
    if (pending.finished) continue;
    if (!finite) {
      Finish(batch[row].pending,
             MakeError(absl::StatusCode::kInternal, "NON_FINITE",
                       "the model's result for this text is not a finite number"),
             batch[row].item, finished);
      continue;
    }
    pending.result.items[batch[row].item] = std::move(item);
    if (--pending.remaining == 0) {
      Finish(batch[row].pending, absl::OkStatus(), std::nullopt, finished);
    }
  }
}

void BatchScheduler::Finish(const PendingPtr& pending, absl::Status status,
                            std::optional<size_t> failed_item, Finished& finished) {
  pending->finished = true;
  pending->result.status = std::move(status);
  pending->result.failed_item = failed_item;
  finished.emplace_back(std::move(pending->job.done), std::move(pending->result));
}

size_t BatchScheduler::Sweep() {
  size_t removed_tokens = 0;
  const size_t removed = std::erase_if(queue_, [&](const Entry& entry) {
    if (entry.pending == nullptr) return true;  // taken into a batch
    if (!entry.pending->finished) return false;
    removed_tokens += entry.tokens;
    return true;
  });
  queued_tokens_ -= removed_tokens;
  return removed;
}

void BatchScheduler::UpdateGauges() {
  metrics_.queue_texts->Set(static_cast<double>(queue_.size()));
  metrics_.queue_tokens->Set(static_cast<double>(queued_tokens_));
}

absl::Duration BatchScheduler::RetryDelay() const {
  if (tokens_per_second_ == 0) return absl::Seconds(1);
  const absl::Duration estimate =
      absl::Seconds(static_cast<double>(queued_tokens_) / tokens_per_second_);
  return absl::Trunc(std::clamp(estimate, kShortestRetryDelay, kLongestRetryDelay),
                     absl::Milliseconds(1));
}

void BatchScheduler::Notify(Finished finished) {
  for (auto& [done, result] : finished) done(std::move(result));
}

}  // namespace heed
