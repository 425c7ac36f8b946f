// Which texts run next: a pure function of the queue, the limits and the time, so that every rule
// of batching is a table in a test.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"

namespace heed {

struct BatchLimits {
  // A batch holds at most so many tokens, unless its only text is longer.
  size_t max_batch_tokens = 16384;
  size_t max_batch_texts = 1024;
  // How long the oldest text may wait for company. 0: a lone text never waits.
  absl::Duration max_queue_delay = absl::ZeroDuration();
  // How long a request may wait for its first text to run.
  absl::Duration queue_timeout = absl::Seconds(30);
};

// One waiting text.
struct QueuedText {
  size_t tokens = 0;
  absl::Time enqueued;
  // The client's own deadline.
  absl::Time deadline = absl::InfiniteFuture();
  // Another text of its request has run already: the queue's wait limit no longer applies.
  bool started = false;
};

enum class Expiry { kDeadline, kQueueTimeout };

struct ExpiredText {
  size_t index = 0;
  Expiry why = Expiry::kDeadline;
};

struct BatchDecision {
  // Indices into the queue, ascending: run these now. Empty: nothing to run yet.
  std::vector<size_t> take;
  // Indices into the queue, ascending: answer these without computing them.
  std::vector<ExpiredText> expired;
  // Ask again at this time if nothing else happens before. Infinite: only when something happens.
  absl::Time next_look = absl::InfiniteFuture();
};

// First in, first out. Expired texts are dropped first; of the rest the longest prefix within the
// token and text budgets is the batch. It runs when it is full or when its oldest text has waited
// max_queue_delay. `queue` is oldest first. O(queue).
BatchDecision Decide(absl::Span<const QueuedText> queue, const BatchLimits& limits, absl::Time now);

}  // namespace heed
