#include "server/service_stream.h"

#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "model/api/error.h"
#include "server/timer_queue.h"

namespace heed {
namespace {

// Messages wait for the one that is sent, so that small ones do not wait for a change of threads
// each; a large one waits alone.
constexpr size_t kReadyBytes = size_t{512} << 10;

// A state machine: whoever finishes something says so and calls Step, which starts what comes next.
// Kept alive by what it has started.
class MessageStream : public std::enable_shared_from_this<MessageStream> {
 public:
  MessageStream(const ServiceContext& context, std::shared_ptr<Call> call,
                MessageStreamOptions options)
      : context_(context), call_(std::move(call)), options_(std::move(options)) {}

  void Start() {
    // The token outlives the stream, so it must not keep it alive.
    call_->cancel->OnCancel([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Stop(self->GoneStatus());
    });
    Step();
  }

 private:
  // What Step found to do, to be done without the lock: each may call back at once.
  struct Next {
    std::optional<grpc::ByteBuffer> write;
    bool produce = false;
    std::optional<absl::Status> finish;
  };

  Next Decide() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Next next;
    if (finished_) return next;
    if (!status_.ok()) {
      ready_.clear();
    } else {
      if (!ready_.empty() && !writing_) {
        next.write = std::move(ready_.front());
        ready_.pop_front();
        ready_bytes_ -= next.write->Length();
        writing_ = true;
      }
      if ((ready_.empty() || ready_bytes_ < kReadyBytes) && !producing_ && !exhausted_) {
        producing_ = true;
        next.produce = true;
      }
    }
    if (!writing_ && !producing_ && ready_.empty()) {
      finished_ = true;
      next.finish = status_;
    }
    return next;
  }

  void Step() {
    Next next;
    {
      absl::MutexLock lock(&mutex_);
      next = Decide();
    }
    if (Begin(std::move(next))) Submit();
  }

  // Returns whether a message is to be produced, which is left to the caller.
  bool Begin(Next next) {
    if (next.write) Write(*std::move(next.write));
    if (next.finish) Finish(*next.finish);
    return next.produce;
  }

  void Submit() {
    context_.pool->Submit([self = shared_from_this()] { self->Produce(); });
  }

  // Goes on here as long as the reader keeps up: a change of threads costs more than a small
  // message. Others get their turn all the same.
  void Produce() {
    constexpr int kMessagesATurn = 16;
    for (int i = 0; i < kMessagesATurn; ++i) {
      if (!Begin(ProduceOne())) return;
    }
    Submit();
  }

  Next ProduceOne() {
    bool wanted = false;
    {
      absl::MutexLock lock(&mutex_);
      wanted = status_.ok();
    }
    absl::StatusOr<std::optional<grpc::ByteBuffer>> message;
    if (wanted) message = options_.produce();
    absl::MutexLock lock(&mutex_);
    producing_ = false;
    if (wanted && !message.ok() && status_.ok()) status_ = message.status();
    if (wanted && message.ok()) {
      exhausted_ = !message->has_value();
      if (!exhausted_) {
        ready_bytes_ += (*message)->Length();
        ready_.push_back(**std::move(message));
      }
    }
    return Decide();
  }

  void Write(grpc::ByteBuffer message) {
    uint64_t write = 0;
    {
      absl::MutexLock lock(&mutex_);
      write = ++write_count_;
      if (options_.stall_timeout != absl::InfiniteDuration()) {
        timer_ =
            context_.timers->Schedule(context_.clock->Now() + options_.stall_timeout,
                                      [self = shared_from_this(), write] { self->Stalled(write); });
      }
    }
    call_->write(std::move(message),
                 [self = shared_from_this()](bool sent) { self->Written(sent); });
  }

  void Written(bool sent) {
    std::optional<TimerQueue::Id> timer;
    {
      absl::MutexLock lock(&mutex_);
      writing_ = false;
      timer.swap(timer_);
      if (!sent && status_.ok()) status_ = GoneStatus();
    }
    if (timer) context_.timers->Cancel(*timer);
    Step();
  }

  void Stalled(uint64_t write) {
    const absl::Status status =
        MakeError(absl::StatusCode::kAborted, "READER_STALLED",
                  absl::StrCat("READER_STALLED: no message was read for ",
                               absl::FormatDuration(options_.stall_timeout)),
                  {{"stallTimeout", absl::FormatDuration(options_.stall_timeout)}});
    {
      absl::MutexLock lock(&mutex_);
      if (!writing_ || write != write_count_ || !status_.ok()) return;
      status_ = status;
    }
    // The message on its way comes back unsent, and with it the end.
    call_->abort(status);
  }

  void Stop(const absl::Status& status) {
    {
      absl::MutexLock lock(&mutex_);
      if (status_.ok()) status_ = status;
    }
    Step();
  }

  void Finish(const absl::Status& status) {
    options_.produce = nullptr;
    if (options_.ended) options_.ended(status);
    call_->finish(status, grpc::ByteBuffer());
  }

  absl::Status GoneStatus() const {
    if (call_->deadline <= context_.clock->Now()) {
      return MakeError(absl::StatusCode::kDeadlineExceeded, "DEADLINE_EXCEEDED",
                       "the client's deadline passed before the stream was read");
    }
    return MakeError(absl::StatusCode::kCancelled, "CANCELLED", "the client cancelled the request");
  }

  const ServiceContext context_;
  const std::shared_ptr<Call> call_;
  MessageStreamOptions options_;

  absl::Mutex mutex_;
  std::deque<grpc::ByteBuffer> ready_ ABSL_GUARDED_BY(mutex_);
  size_t ready_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool producing_ ABSL_GUARDED_BY(mutex_) = false;
  bool exhausted_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  uint64_t write_count_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<TimerQueue::Id> timer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void SendStream(const ServiceContext& context, std::shared_ptr<Call> call,
                MessageStreamOptions options) {
  std::make_shared<MessageStream>(context, std::move(call), std::move(options))->Start();
}

}  // namespace heed
