// How much memory requests of one kind may hold together.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "prometheus/gauge.h"

namespace heed {

// Safe to call from many threads at once. Outlives what it gave.
class ByteBudget {
 public:
  // gauge: shows what is taken; may be null.
  explicit ByteBudget(size_t limit, prometheus::Gauge* gauge = nullptr)
      : limit_(limit), gauge_(gauge) {}

  // What was taken, until it is destroyed.
  using Share = std::shared_ptr<void>;

  // null: it would pass the limit.
  Share Take(size_t bytes) {
    size_t taken = taken_.load();
    do {
      if (bytes > limit_ || taken > limit_ - bytes) return nullptr;
    } while (!taken_.compare_exchange_weak(taken, taken + bytes));
    if (gauge_ != nullptr) gauge_->Increment(static_cast<double>(bytes));
    return Share(this, [bytes](void* self) { static_cast<ByteBudget*>(self)->Give(bytes); });
  }

  size_t limit() const { return limit_; }
  size_t taken() const { return taken_.load(); }

 private:
  void Give(size_t bytes) {
    taken_.fetch_sub(bytes);
    if (gauge_ != nullptr) gauge_->Decrement(static_cast<double>(bytes));
  }

  const size_t limit_;
  prometheus::Gauge* const gauge_;
  std::atomic<size_t> taken_ = 0;
};

}  // namespace heed
