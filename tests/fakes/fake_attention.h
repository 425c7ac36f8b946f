// Attention without a model: every weight follows from its place by a rule that a test can work out
// by itself, and a test can count reads or hold them up.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "model/api/attention.h"

namespace heed {

// The weight of `key` for `query` in a text of `token_count` tokens: 1 + (layer + 2 head + 3 query
// + 5 key) mod 7, divided by its row's sum.
double FakeWeight(int64_t layer, int64_t head, int64_t query, int64_t key, int64_t token_count);

// The importance of a token: for kRolloutCls 1, 2, … n, for kMeanLastLayerCls n … 2, 1, divided by
// their sum.
std::vector<float> FakeImportance(Importance kind, int64_t token_count);

// What happened to the sources of one runner, and whether reads may go on. Safe to call from many
// threads at once.
class FakeReads {
 public:
  // From now on reads wait until Open().
  void Close();
  void Open();
  // Blocks until `count` reads have begun since the start.
  void AwaitReads(size_t count) const;
  size_t count() const;
  // The most floats one read returned.
  size_t largest() const;
  // What was asked of the model, in order.
  std::vector<CaptureRequest> captures() const;
  // Sources that live now.
  int64_t alive() const;

  // The rest is for the sources.
  void Begin(size_t floats);
  void AddCapture(const CaptureRequest& request);
  void ChangeAlive(int64_t change);

 private:
  mutable absl::Mutex mutex_;
  bool open_ ABSL_GUARDED_BY(mutex_) = true;
  size_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t largest_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t alive_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<CaptureRequest> captures_ ABSL_GUARDED_BY(mutex_);
};

// Weights by FakeWeight and what follows from them. Flow is not one: it gives the mean over the
// captured heads in the first captured layer.
class FakeAttentionSource : public AttentionSource {
 public:
  // `request` names its layers and heads.
  FakeAttentionSource(CaptureRequest request, int64_t token_count,
                      std::shared_ptr<FakeReads> reads);
  ~FakeAttentionSource() override;

  absl::StatusOr<AttentionMap> Read(int64_t layer, const std::vector<int64_t>& heads,
                                    int64_t row_begin, int64_t row_end) const override;
  // The logarithms of the weights.
  absl::StatusOr<AttentionMap> ReadScores(int64_t layer, const std::vector<int64_t>& heads,
                                          int64_t row_begin, int64_t row_end) const override;
  absl::StatusOr<AttentionMap> Rollout(const std::vector<int64_t>& rows) const override;
  absl::StatusOr<AttentionMap> Flow(const std::vector<int64_t>& rows) const override;

 private:
  double MeanWeight(int64_t layer, int64_t query, int64_t key) const;

  const CaptureRequest request_;
  const int64_t token_count_;
  const std::shared_ptr<FakeReads> reads_;
};

}  // namespace heed
