#include "server/byte_budget.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "model/api/error.h"

namespace heed {
namespace {

// Streams end at the pace of their readers, which nobody knows.
constexpr char kRetryDelay[] = "1s";

}  // namespace

std::optional<ByteBudget::Reservation> ByteBudget::TryReserve(size_t bytes) {
  absl::MutexLock lock(&mutex_);
  if (bytes > limit_ - used_) return std::nullopt;
  used_ += bytes;
  if (gauge_ != nullptr) gauge_->Set(static_cast<double>(used_));
  return Reservation(this, bytes);
}

absl::StatusOr<ByteBudget::Reservation> ByteBudget::Reserve(size_t bytes, absl::string_view what,
                                                            absl::string_view advice,
                                                            absl::string_view field) {
  if (bytes > limit_) {
    return MakeError(absl::StatusCode::kInvalidArgument, "ATTENTION_TOO_LARGE",
                     absl::StrCat(what, " takes ", bytes, " bytes of memory, the server has ",
                                  limit_, " for all; ", advice),
                     {{"byteCount", absl::StrCat(bytes)}, {"limit", absl::StrCat(limit_)}}, field);
  }
  std::optional<Reservation> memory = TryReserve(bytes);
  if (memory.has_value()) return *std::move(memory);
  return MakeError(absl::StatusCode::kResourceExhausted, "ATTENTION_MEMORY",
                   absl::StrCat(what, " takes ", bytes,
                                " bytes of memory, which other calls hold now; the server has ",
                                limit_, " for all"),
                   {{"byteCount", absl::StrCat(bytes)},
                    {"limit", absl::StrCat(limit_)},
                    {"retryDelay", kRetryDelay}});
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
