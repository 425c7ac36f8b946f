#include "server/scheduler.h"

#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "model/api/error.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_model.h"

namespace heed {
namespace {

// A job's answer, once it is there. The callback may outlive the object.
class Answer {
 public:
  std::function<void(JobResult)> Callback() {
    return [state = state_](JobResult result) {
      state->result = std::move(result);
      state->done.Notify();
    };
  }
  const JobResult& Get() {
    state_->done.WaitForNotification();
    return state_->result;
  }
  bool HasArrived() const { return state_->done.HasBeenNotified(); }
  std::string Reason() { return GetErrorDetail(Get().status).reason; }

 private:
  struct State {
    absl::Notification done;
    JobResult result;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

class SchedulerTest : public testing::Test {
 protected:
  SchedulerTest() {
    limits_.batch.max_batch_tokens = 10;
    limits_.batch.max_batch_texts = 4;
    limits_.batch.queue_timeout = absl::Seconds(30);
    limits_.max_queue_tokens = 20;
    model_metrics_ = metrics_.AddModel("m", runner_.info());
  }

  void Start() {
    scheduler_ = std::make_unique<BatchScheduler>(&runner_, &clock_, limits_, model_metrics_);
  }

  absl::Status Submit(std::vector<TokenIds> texts, Answer& answer,
                      absl::Time deadline = absl::InfiniteFuture(),
                      std::shared_ptr<CancelToken> cancel = nullptr) {
    return scheduler_->Submit(
        {std::move(texts), {}, deadline, std::move(cancel), answer.Callback()});
  }

  // Keeps the compute thread busy with one text until runner_.Open().
  void Occupy(Answer& answer) {
    const size_t before = runner_.batches().size();
    runner_.Close();
    ASSERT_TRUE(Submit({MakeIds(1)}, answer).ok());
    runner_.AwaitRuns(before + 1);
  }

  FakeClock clock_;
  FakeRunner runner_;
  Metrics metrics_{{}};
  ModelMetrics model_metrics_;
  BatchScheduler::Limits limits_;
  std::unique_ptr<BatchScheduler> scheduler_;
};

TEST_F(SchedulerTest, LoneTextIsComputed) {
  Start();
  Answer answer;
  ASSERT_TRUE(Submit({MakeIds(3, 2)}, answer).ok());
  ASSERT_TRUE(answer.Get().status.ok());
  ASSERT_EQ(answer.Get().items.size(), 1u);
  EXPECT_EQ(answer.Get().items[0].logits, std::vector<float>({0, 6}));
  EXPECT_EQ(answer.Get().items[0].scores, std::vector<float>({1.0f / 7, 6.0f / 7}));
  EXPECT_EQ(model_metrics_.computed_tokens->Value(), 3);
}

TEST_F(SchedulerTest, LargeJobRunsInSeveralBatchesAndKeepsItsOrder) {
  Start();
  std::vector<TokenIds> texts;
  for (int64_t id = 1; id <= 9; ++id) texts.push_back(MakeIds(2, id));
  Answer answer;
  ASSERT_TRUE(Submit(texts, answer).ok());
  ASSERT_TRUE(answer.Get().status.ok());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(answer.Get().items[i].logits[1], static_cast<float>(2 * (i + 1))) << i;
  }
  ASSERT_EQ(runner_.batches().size(), 3u);  // at most 4 texts each
  EXPECT_EQ(runner_.batches()[0].text_count(), 4u);
  EXPECT_EQ(runner_.batches()[2].text_count(), 1u);
}

TEST_F(SchedulerTest, StopWaitingRunsWhatWaitsForCompany) {
  limits_.batch.max_queue_delay = absl::Seconds(5);
  Start();
  Answer waiting, later;
  ASSERT_TRUE(Submit({MakeIds(2)}, waiting).ok());
  clock_.AwaitWaiter(clock_.Now() + absl::Seconds(5));
  scheduler_->StopWaiting();
  EXPECT_TRUE(waiting.Get().status.ok());
  ASSERT_TRUE(Submit({MakeIds(2)}, later).ok());  // what was let in before the drain still comes
  EXPECT_TRUE(later.Get().status.ok());
}

TEST_F(SchedulerTest, JobsThatWaitTogetherShareABatch) {
  Start();
  Answer busy, first, second;
  Occupy(busy);
  ASSERT_TRUE(Submit({MakeIds(2, 1)}, first).ok());
  ASSERT_TRUE(Submit({MakeIds(2, 2)}, second).ok());
  runner_.Open();
  EXPECT_EQ(first.Get().items[0].logits[1], 2);
  EXPECT_EQ(second.Get().items[0].logits[1], 4);
  EXPECT_EQ(runner_.batches().size(), 2u);
}

TEST_F(SchedulerTest, WaitsForTheDelayAndNoLonger) {
  limits_.batch.max_queue_delay = absl::Milliseconds(5);
  Start();
  Answer answer;
  ASSERT_TRUE(Submit({MakeIds(1)}, answer).ok());
  clock_.AwaitWaiter(absl::UnixEpoch() + absl::Milliseconds(5));
  EXPECT_FALSE(answer.HasArrived());
  clock_.Advance(absl::Milliseconds(5));
  EXPECT_EQ(answer.Get().items[0].queue, absl::Milliseconds(5));
}

TEST_F(SchedulerTest, MeasuresQueueAndCompute) {
  runner_.SetBehaviour([this](const RaggedBatch& batch) -> absl::StatusOr<RunOutput> {
    clock_.Advance(absl::Milliseconds(7));
    return FakeRunner::Compute(batch);
  });
  Start();
  Answer busy, answer;
  Occupy(busy);
  ASSERT_TRUE(Submit({MakeIds(1)}, answer).ok());
  runner_.Open();
  EXPECT_EQ(answer.Get().items[0].queue, absl::Milliseconds(7));
  EXPECT_EQ(answer.Get().items[0].compute, absl::Milliseconds(7));
}

TEST_F(SchedulerTest, FullQueueRefusesTheWholeJob) {
  Start();
  Answer busy, waiting, refused, single;
  Occupy(busy);
  ASSERT_TRUE(Submit({MakeIds(10), MakeIds(5)}, waiting).ok());
  const absl::Status status = Submit({MakeIds(3), MakeIds(3)}, refused);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetErrorDetail(status).reason, "QUEUE_FULL");
  EXPECT_EQ(GetErrorDetail(status).metadata.count("retryDelay"), 1u);
  EXPECT_EQ(Submit({MakeIds(6)}, single).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(model_metrics_.queue_tokens->Value(), 15);
  EXPECT_EQ(model_metrics_.rejected->Value(), 3);
  runner_.Open();
  EXPECT_TRUE(waiting.Get().status.ok());
  EXPECT_FALSE(refused.HasArrived());
  Answer later;
  ASSERT_TRUE(Submit({MakeIds(3), MakeIds(3)}, later).ok());
  EXPECT_TRUE(later.Get().status.ok());
}

TEST_F(SchedulerTest, JobThatNeverFitsIsInvalid) {
  Start();
  Answer answer;
  const absl::Status status = Submit({MakeIds(21)}, answer);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(GetErrorDetail(status).reason, "REQUEST_TOO_LARGE");
  EXPECT_EQ(GetErrorDetail(status).metadata.at("limit"), "20");
}

TEST_F(SchedulerTest, PassedDeadlineIsNotComputed) {
  Start();
  Answer busy, late, alive;
  Occupy(busy);
  ASSERT_TRUE(Submit({MakeIds(2)}, late, clock_.Now() + absl::Seconds(1)).ok());
  ASSERT_TRUE(Submit({MakeIds(3)}, alive, clock_.Now() + absl::Seconds(9)).ok());
  clock_.Advance(absl::Seconds(2));
  runner_.Open();
  EXPECT_EQ(late.Get().status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(alive.Get().status.ok());
  EXPECT_EQ(runner_.batches().back().token_count(), 3u);
  EXPECT_EQ(model_metrics_.expired_deadline->Value(), 1);
}

TEST_F(SchedulerTest, LongWaitIsUnavailable) {
  Start();
  Answer busy, answer;
  Occupy(busy);
  ASSERT_TRUE(Submit({MakeIds(2)}, answer).ok());
  clock_.Advance(absl::Seconds(30));
  runner_.Open();
  EXPECT_EQ(answer.Get().status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(answer.Reason(), "QUEUE_TIMEOUT");
  EXPECT_EQ(model_metrics_.expired_queue_timeout->Value(), 1);
}

TEST_F(SchedulerTest, JobThatHasStartedDoesNotTimeOutOnItself) {
  runner_.SetBehaviour([this](const RaggedBatch& batch) -> absl::StatusOr<RunOutput> {
    clock_.Advance(absl::Seconds(20));
    return FakeRunner::Compute(batch);
  });
  Start();
  Answer answer;  // three batches, 60 s
  ASSERT_TRUE(Submit({MakeIds(6), MakeIds(6), MakeIds(6)}, answer).ok());
  EXPECT_TRUE(answer.Get().status.ok()) << answer.Get().status;
}

TEST_F(SchedulerTest, CancelledJobLeavesTheQueueAtOnce) {
  Start();
  Answer busy, answer;
  Occupy(busy);
  const auto cancel = std::make_shared<CancelToken>();
  ASSERT_TRUE(Submit({MakeIds(4), MakeIds(4)}, answer, absl::InfiniteFuture(), cancel).ok());
  cancel->Cancel();
  EXPECT_TRUE(answer.HasArrived());  // while the model is still busy
  EXPECT_EQ(answer.Get().status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(model_metrics_.cancelled->Value(), 2);
  EXPECT_EQ(model_metrics_.queue_tokens->Value(), 0);
  runner_.Open();
  ASSERT_TRUE(busy.Get().status.ok());
  scheduler_->Drain();
  EXPECT_EQ(model_metrics_.computed_tokens->Value(), 1);
}

TEST_F(SchedulerTest, JobCancelledBeforeSubmissionIsAnswered) {
  Start();
  const auto cancel = std::make_shared<CancelToken>();
  cancel->Cancel();
  Answer busy, answer;
  Occupy(busy);
  ASSERT_TRUE(Submit({MakeIds(4)}, answer, absl::InfiniteFuture(), cancel).ok());
  EXPECT_EQ(answer.Get().status.code(), absl::StatusCode::kCancelled);
  runner_.Open();
}

TEST_F(SchedulerTest, CancellingARunningJobDropsItsWaitingTexts) {
  Start();
  runner_.Close();
  const auto cancel = std::make_shared<CancelToken>();
  Answer answer;
  ASSERT_TRUE(Submit({MakeIds(10), MakeIds(10)}, answer, absl::InfiniteFuture(), cancel).ok());
  runner_.AwaitRuns(1);
  cancel->Cancel();
  EXPECT_EQ(answer.Get().status.code(), absl::StatusCode::kCancelled);
  runner_.Open();
  scheduler_->Drain();
  EXPECT_EQ(runner_.batches().size(), 1u);
  EXPECT_EQ(model_metrics_.cancelled->Value(), 1);
}

TEST_F(SchedulerTest, FailedBatchFailsOnlyItsJobs) {
  runner_.SetBehaviour([](const RaggedBatch& batch) -> absl::StatusOr<RunOutput> {
    if (batch.ids[0] == 7) return MakeError(absl::StatusCode::kInternal, "BROKEN", "broken");
    if (batch.ids[0] == 8) throw std::runtime_error("thrown");
    if (batch.ids[0] == 9) return RunOutput{};
    return FakeRunner::Compute(batch);
  });
  Start();
  Answer status, thrown, shapeless, fine;
  ASSERT_TRUE(Submit({MakeIds(10, 7), MakeIds(10, 1)}, status).ok());
  EXPECT_EQ(status.Reason(), "BROKEN");
  ASSERT_TRUE(Submit({MakeIds(10, 8)}, thrown).ok());
  EXPECT_EQ(thrown.Reason(), "COMPUTE_FAILED");
  ASSERT_TRUE(Submit({MakeIds(10, 9)}, shapeless).ok());
  EXPECT_EQ(shapeless.Reason(), "BAD_MODEL_OUTPUT");
  ASSERT_TRUE(Submit({MakeIds(10, 1)}, fine).ok());
  EXPECT_TRUE(fine.Get().status.ok());
  EXPECT_EQ(model_metrics_.failed_batches->Value(), 3);
  EXPECT_EQ(runner_.batches().size(), 4u);  // the failed job's second text never ran
  EXPECT_EQ(model_metrics_.queue_tokens->Value(), 0);
}

TEST_F(SchedulerTest, NonFiniteResultFailsOnlyItsText) {
  runner_.SetBehaviour([](const RaggedBatch& batch) -> absl::StatusOr<RunOutput> {
    RunOutput output = FakeRunner::Compute(batch);
    for (size_t i = 0; i < batch.text_count(); ++i) {
      if (batch.ids[static_cast<size_t>(batch.cu_seqlens[i])] == 7) {
        output.logits[2 * i] = std::numeric_limits<float>::infinity();
      }
    }
    return output;
  });
  Start();
  Answer busy, bad, good;
  Occupy(busy);
  ASSERT_TRUE(Submit({MakeIds(2, 1), MakeIds(2, 7)}, bad).ok());
  ASSERT_TRUE(Submit({MakeIds(2, 1)}, good).ok());
  runner_.Open();
  EXPECT_TRUE(good.Get().status.ok());
  EXPECT_EQ(bad.Get().status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(bad.Reason(), "NON_FINITE");
  EXPECT_EQ(bad.Get().failed_item, 1u);
  EXPECT_EQ(runner_.batches().size(), 2u);  // both shared a batch
  EXPECT_EQ(model_metrics_.non_finite->Value(), 1);
}

TEST_F(SchedulerTest, TokenResultsGoToTheirTexts) {
  runner_.LabelTokens();
  runner_.SetBehaviour([](const RaggedBatch& batch) -> absl::StatusOr<RunOutput> {
    RunOutput output = FakeRunner::ComputeTokens(batch);
    for (size_t t = 0; t < batch.token_count(); ++t) {
      if (batch.ids[t] == 7) output.token_logits[3 * t + 2] = std::nanf("");
    }
    return output;
  });
  Start();
  Answer busy, bad, good;
  Occupy(busy);
  ASSERT_TRUE(Submit({MakeIds(1, 5), MakeIds(2, 7)}, bad).ok());
  ASSERT_TRUE(Submit({MakeIds(2, 4), MakeIds(1, 6)}, good).ok());
  runner_.Open();
  ASSERT_TRUE(good.Get().status.ok());
  EXPECT_EQ(good.Get().items[0].token_logits, std::vector<float>({0, 4, 0, 0, 4, 0}));
  EXPECT_EQ(good.Get().items[1].token_logits, std::vector<float>({6, 0, 0}));
  EXPECT_EQ(good.Get().items[1].token_scores, std::vector<float>({0.75f, 0.125f, 0.125f}));
  EXPECT_TRUE(good.Get().items[0].logits.empty());
  EXPECT_EQ(bad.Reason(), "NON_FINITE");
  EXPECT_EQ(bad.Get().failed_item, 1u);
  EXPECT_EQ(runner_.batches().size(), 2u);  // both shared a batch
}

TEST_F(SchedulerTest, TokenResultsOfTheWrongShapeFail) {
  runner_.LabelTokens();
  runner_.SetBehaviour([](const RaggedBatch& batch) { return FakeRunner::Compute(batch); });
  Start();
  Answer answer;
  ASSERT_TRUE(Submit({MakeIds(2)}, answer).ok());
  EXPECT_EQ(answer.Reason(), "BAD_MODEL_OUTPUT");
}

TEST_F(SchedulerTest, DrainFinishesWhatWasAcceptedAndRefusesTheRest) {
  limits_.batch.max_queue_delay = absl::Hours(1);  // draining does not wait for company
  Start();
  Answer accepted, refused;
  ASSERT_TRUE(Submit({MakeIds(3), MakeIds(3), MakeIds(3)}, accepted).ok());
  scheduler_->Drain();
  EXPECT_TRUE(accepted.HasArrived());
  EXPECT_TRUE(accepted.Get().status.ok());
  const absl::Status status = Submit({MakeIds(1)}, refused);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(GetErrorDetail(status).reason, "DRAINING");
}

TEST_F(SchedulerTest, ManyThreadsEachGetTheirOwnAnswer) {
  limits_.max_queue_tokens = 1 << 20;
  Start();
  std::vector<std::thread> threads;
  for (int64_t id = 1; id <= 16; ++id) {
    threads.emplace_back([this, id] {
      for (int i = 0; i < 50; ++i) {
        Answer answer;
        ASSERT_TRUE(Submit({MakeIds(1, id), MakeIds(2, id)}, answer).ok());
        ASSERT_EQ(answer.Get().items[0].logits[1], static_cast<float>(id));
        ASSERT_EQ(answer.Get().items[1].logits[1], static_cast<float>(2 * id));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(model_metrics_.computed_texts->Value(), 16 * 50 * 2);
}

}  // namespace
}  // namespace heed
