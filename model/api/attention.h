// What a caller can learn of attention: weights of a layer, numbers made of them, and a handle to
// read the weights of one text later, a few rows at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace heed {

// What is made of the weights of a layer, row by row.
enum class AttentionForm {
  kWeights,       // [heads, rows, keys]: as they are
  kMeanHeads,     // [1, rows, keys]: the mean over the heads
  kEntropy,       // [heads, rows, 1]: -sum p ln p of each row, in nats
  kMeanDistance,  // [heads, rows, 1]: sum p |query - key| of each row, in tokens
};

// Attention of one layer and text.
struct AttentionRequest {
  int64_t layer = 0;  // 0 … layer_count-1
  int64_t text = 0;   // index in the batch
  // Heads, in the order wanted; empty: all.
  std::vector<int64_t> heads;
  // Queries row_begin … row_end-1; row_end -1: the text's length.
  int64_t row_begin = 0;
  int64_t row_end = -1;
  AttentionForm form = AttentionForm::kWeights;
};

struct AttentionMap {
  int64_t head_count = 0;
  int64_t row_count = 0;
  int64_t key_count = 0;  // the text's length, or 1
  // [heads, rows, keys], see AttentionForm; row = query. Rows of weights sum to 1; a row with every
  // key hidden is zeros.
  std::vector<float> weights;
};

// Keeps what is needed to read a text's attention after the pass.
struct CaptureRequest {
  int64_t text = 0;  // index in the batch
  // In the order wanted; empty: all.
  std::vector<int64_t> layers;
  std::vector<int64_t> heads;
  AttentionForm form = AttentionForm::kWeights;
  // True: keep the result, computed with the pass. False: keep queries and keys, and compute rows
  // when they are read; for results that are larger than those.
  bool eager = false;
  // Eager only: the rows that will be read, as AttentionRequest's.
  int64_t row_begin = 0;
  int64_t row_end = -1;
};

// The attention of one text. Immutable; safe to call from many threads at once. Calls compute on
// the calling thread alone. It may outlive the runner and the batch.
class AttentionSource {
 public:
  virtual ~AttentionSource() = default;

  // Rows row_begin … row_end-1 of `heads` (a subset of the request's, empty: all of them) in
  // `layer`, in the request's form. Ask for one layer after another and rows in order where you
  // can. INTERNAL for what the capture does not hold, RESOURCE_EXHAUSTED when memory runs out.
  virtual absl::StatusOr<AttentionMap> Read(int64_t layer, const std::vector<int64_t>& heads,
                                            int64_t row_begin, int64_t row_end) const = 0;

  // Scores of the same rows before the softmax: scale · q·k and all terms of positions; -inf where
  // a query may not see a key. Lazy captures of form kWeights only.
  virtual absl::StatusOr<AttentionMap> ReadScores(int64_t layer, const std::vector<int64_t>& heads,
                                                  int64_t row_begin, int64_t row_end) const = 0;

  // Attention rollout through the captured layers, first to last: rows of the product, [1, rows,
  // keys], in the order of `rows`. Form kMeanHeads only. Source: Abnar and Zuidema, 2020,
  // arXiv:2005.00928, section 3, residual 0.5.
  virtual absl::StatusOr<AttentionMap> Rollout(const std::vector<int64_t>& rows) const = 0;

  // Attention flow from each of `rows` at the last captured layer to every token of the first
  // one's input, [1, rows, keys]. Form kMeanHeads only. Same paper.
  virtual absl::StatusOr<AttentionMap> Flow(const std::vector<int64_t>& rows) const = 0;
};

// One number a token: how much it matters to the summary token (ModelInfo::summary_token).
enum class Importance {
  kRolloutCls,        // the summary token's row of the rollout over all layers and heads
  kMeanLastLayerCls,  // its row of the last layer, the mean over heads
};

struct ImportanceRequest {
  int64_t text = 0;  // index in the batch
  Importance kind = Importance::kRolloutCls;
};

// See Runner::SimilarityOfPositions.
struct PositionSimilarity {
  std::string encoding;
  int64_t matrix_count = 0;  // 1, or the number of heads
  int64_t position_count = 0;
  std::vector<double> values;  // [matrices, positions, positions]
};

// FAILED_PRECONDITION NO_POSITION_SIMILARITY: what a model without positions answers.
absl::Status NoPositionSimilarity();

}  // namespace heed
