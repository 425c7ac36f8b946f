#include "server/batch_policy.h"

#include <algorithm>
#include <optional>

namespace heed {
namespace {

absl::Time WaitLimit(const QueuedText& text, const BatchLimits& limits) {
  return text.started ? absl::InfiniteFuture() : text.enqueued + limits.queue_timeout;
}

std::optional<Expiry> Expired(const QueuedText& text, const BatchLimits& limits, absl::Time now) {
  if (text.deadline <= now) return Expiry::kDeadline;
  if (WaitLimit(text, limits) <= now) return Expiry::kQueueTimeout;
  return std::nullopt;
}

}  // namespace

BatchDecision Decide(absl::Span<const QueuedText> queue, const BatchLimits& limits,
                     absl::Time now) {
  BatchDecision decision;
  size_t tokens = 0;
  bool full = false;
  absl::Time earliest_expiry = absl::InfiniteFuture();
  for (size_t i = 0; i < queue.size(); ++i) {
    if (const auto why = Expired(queue[i], limits, now)) {
      decision.expired.push_back({i, *why});
      continue;
    }
    earliest_expiry = std::min({earliest_expiry, queue[i].deadline, WaitLimit(queue[i], limits)});
    if (full) continue;
    const bool fits = tokens + queue[i].tokens <= limits.max_batch_tokens &&
                      decision.take.size() < limits.max_batch_texts;
    if (fits || decision.take.empty()) {
      decision.take.push_back(i);
      tokens += queue[i].tokens;
    } else {
      full = true;
    }
  }
  if (decision.take.empty()) return decision;
  full =
      full || tokens >= limits.max_batch_tokens || decision.take.size() >= limits.max_batch_texts;
  const absl::Time ripe = queue[decision.take.front()].enqueued + limits.max_queue_delay;
  if (full || ripe <= now) {
    decision.next_look = now;  // what is left may be ready as soon as this batch is done
  } else {
    decision.take.clear();
    decision.next_look = std::min(ripe, earliest_expiry);
  }
  return decision;
}

}  // namespace heed
