// Carries a client's cancellation from the transport, which learns of it, to whoever holds the
// request at that moment.
#pragma once

#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace heed {

// Safe to call from many threads at once.
class CancelToken {
 public:
  // Runs the callback, if any, on the calling thread. Later calls do nothing.
  void Cancel() {
    std::function<void()> callback;
    {
      absl::MutexLock lock(&mutex_);
      if (cancelled_) return;
      cancelled_ = true;
      callback = std::move(callback_);
      callback_ = nullptr;
    }
    if (callback) callback();
  }

  bool cancelled() const {
    absl::MutexLock lock(&mutex_);
    return cancelled_;
  }

  // Replaces the callback; runs it at once when already cancelled. Empty: forget the last one.
  void OnCancel(std::function<void()> callback) {
    {
      absl::MutexLock lock(&mutex_);
      if (!cancelled_) {
        callback_ = std::move(callback);
        return;
      }
    }
    if (callback) callback();
  }

 private:
  mutable absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> callback_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace heed
