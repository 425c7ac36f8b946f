// A model without numbers: words become tokens, and the scores follow from the ids by a rule that a
// test can work out by hand.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "model/api/model.h"
#include "tests/fakes/fake_attention.h"

namespace heed {

// [CLS] words [SEP], and words [SEP] of a pair's second text; a word's id is its length + 10.
class FakeTokenizer : public Tokenizer {
 public:
  static constexpr int64_t kCls = 1;
  static constexpr int64_t kSep = 2;

  // `max_tokens` 0: no limit.
  explicit FakeTokenizer(size_t max_tokens = 16, bool accepts_pairs = false)
      : max_tokens_(max_tokens), accepts_pairs_(accepts_pairs) {}

  absl::StatusOr<TokenizedItem> Encode(absl::string_view text,
                                       std::optional<absl::string_view> text_pair,
                                       const EncodeOptions& options) const override;

 private:
  const size_t max_tokens_;
  const bool accepts_pairs_;
};

// Two labels, "no" and "yes". logits = {0, sum of the text's ids}; scores = {1/(1+s), s/(1+s)}.
// After LabelTokens(): labels "O", "B-X" and "I-X", and a token's label is its id modulo 3, with
// its id as logit and a score of 3/4, where the others have 0 and 1/8.
// Attention and importance: fake_attention.h. Column d of the last hidden state of a token: its id
// + d + a quarter of its position, if it has one.
// Two encodings: "learned" makes positions i and j alike by 10 layer + i - j, "bias", with a matrix
// a head, by 100 head + 10 layer + i - j.
class FakeRunner : public Runner {
 public:
  // Replaces the computation; may throw.
  using Behaviour = std::function<absl::StatusOr<RunOutput>(const RaggedBatch&)>;

  FakeRunner();

  const ModelInfo& info() const override { return info_; }
  absl::StatusOr<RunOutput> Run(const RaggedBatch& batch, const Wants& wants) const override;
  absl::StatusOr<PositionSimilarity> SimilarityOfPositions(
      int64_t position_count, int64_t layer, const std::string& encoding) const override;

  // What the model computes when nothing replaces it.
  static RunOutput Compute(const RaggedBatch& batch);
  static RunOutput ComputeTokens(const RaggedBatch& batch);

  // The rest is for the test. Changing info() is only safe before the model serves.
  ModelInfo& mutable_info() { return info_; }
  // Makes it a token-classification model; only safe before it serves.
  void LabelTokens();
  void SetBehaviour(Behaviour behaviour);
  // From now on a run waits at its start until Open().
  void Close();
  void Open();
  // Blocks until `count` runs have begun since the start.
  void AwaitRuns(size_t count) const;
  // Reads of the attention it gave.
  FakeReads& reads() const { return *reads_; }
  // Whether batches() keeps what runs; on at first.
  void SetRecording(bool recording);
  // The batches that ran, in order.
  std::vector<RaggedBatch> batches() const;

 private:
  void AddExtras(const RaggedBatch& batch, const Wants& wants, RunOutput& output) const;

  ModelInfo info_;
  const std::shared_ptr<FakeReads> reads_ = std::make_shared<FakeReads>();
  mutable absl::Mutex mutex_;
  Behaviour behaviour_ ABSL_GUARDED_BY(mutex_);
  bool open_ ABSL_GUARDED_BY(mutex_) = true;
  bool recording_ ABSL_GUARDED_BY(mutex_) = true;
  mutable std::vector<RaggedBatch> batches_ ABSL_GUARDED_BY(mutex_);
};

// `text_tokens` ids of value `id`.
TokenIds MakeIds(size_t text_tokens, int64_t id = 1);

}  // namespace heed
