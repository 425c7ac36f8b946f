#include "server/lifecycle.h"

#include "model/api/error.h"

namespace heed {

void Lifecycle::SetServing() {
  absl::MutexLock lock(&mutex_);
  if (state_ == State::kLoading) state_ = State::kServing;
}

void Lifecycle::SetDraining() {
  absl::MutexLock lock(&mutex_);
  state_ = State::kDraining;
}

absl::Status Lifecycle::Enter() {
  absl::MutexLock lock(&mutex_);
  switch (state_) {
    case State::kServing:
      ++in_flight_;
      return absl::OkStatus();
    case State::kLoading:
      return MakeError(absl::StatusCode::kUnavailable, "LOADING",
                       "the server is still loading its models");
    case State::kDraining:
      break;
  }
  return MakeError(absl::StatusCode::kUnavailable, "DRAINING", "the server is shutting down");
}

void Lifecycle::Leave() {
  absl::MutexLock lock(&mutex_);
  --in_flight_;
}

bool Lifecycle::AwaitIdle(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  return clock_.AwaitUntil(mutex_, absl::Condition(this, &Lifecycle::Idle), deadline);
}

}  // namespace heed
