#include "server/byte_budget.h"

namespace heed {

std::optional<ByteBudget::Reservation> ByteBudget::TryReserve(size_t bytes) {
  absl::MutexLock lock(&mutex_);
  if (bytes > limit_ - used_) return std::nullopt;
  used_ += bytes;
  if (gauge_ != nullptr) gauge_->Set(static_cast<double>(used_));
  return Reservation(this, bytes);
}

size_t ByteBudget::used() const {
  absl::MutexLock lock(&mutex_);
  return used_;
}

void ByteBudget::Release(size_t bytes) {
  absl::MutexLock lock(&mutex_);
  used_ -= bytes;
  if (gauge_ != nullptr) gauge_->Set(static_cast<double>(used_));
}

}  // namespace heed
