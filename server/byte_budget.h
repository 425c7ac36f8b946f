// How much memory calls may hold between them, so that many large ones at once are refused rather
// than killed.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "prometheus/gauge.h"

namespace heed {

// Safe to call from many threads at once.
class ByteBudget {
 public:
  // Bytes that were taken, given back when this is destroyed. Not after its budget.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(ByteBudget* budget, size_t bytes) : budget_(budget), bytes_(bytes) {}
    Reservation(Reservation&& other) noexcept { *this = std::move(other); }
    Reservation& operator=(Reservation&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Reservation() {
      if (budget_ != nullptr) budget_->Release(bytes_);
    }

   private:
    ByteBudget* budget_ = nullptr;
    size_t bytes_ = 0;
  };

  // `gauge`, which may be null, shows what is taken.
  explicit ByteBudget(size_t limit, prometheus::Gauge* gauge = nullptr)
      : limit_(limit), gauge_(gauge) {}

  // Nothing when the limit would be passed.
  std::optional<Reservation> TryReserve(size_t bytes);

  // The same as an answer to a client: `what` needs the bytes ("this attention"), `advice` says how
  // to need less. INVALID_ARGUMENT ATTENTION_TOO_LARGE in `field` for what could never be had,
  // RESOURCE_EXHAUSTED ATTENTION_MEMORY (metadata retryDelay) for what others hold now.
  absl::StatusOr<Reservation> Reserve(size_t bytes, absl::string_view what,
                                      absl::string_view advice, absl::string_view field);

  size_t limit() const { return limit_; }
  size_t used() const;

 private:
  void Release(size_t bytes);

  const size_t limit_;
  prometheus::Gauge* const gauge_;
  mutable absl::Mutex mutex_;
  size_t used_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace heed
