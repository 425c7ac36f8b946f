#include "tests/fakes/fake_attention.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace heed {
namespace {

double Raw(int64_t layer, int64_t head, int64_t query, int64_t key) {
  return static_cast<double>(1 + (layer + 2 * head + 3 * query + 5 * key) % 7);
}

// What `form` makes of one row.
void AppendRow(const std::vector<double>& row, int64_t query, AttentionForm form,
               std::vector<float>& out) {
  double sum = 0;
  for (size_t key = 0; key < row.size(); ++key) {
    const double p = row[key];
    if (form == AttentionForm::kEntropy) {
      sum -= p * std::log(p);
    } else if (form == AttentionForm::kMeanDistance) {
      sum += p * static_cast<double>(std::abs(query - static_cast<int64_t>(key)));
    } else {
      out.push_back(static_cast<float>(p));
    }
  }
  if (form == AttentionForm::kEntropy || form == AttentionForm::kMeanDistance) {
    out.push_back(static_cast<float>(sum));
  }
}

bool Holds(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

double FakeWeight(int64_t layer, int64_t head, int64_t query, int64_t key, int64_t token_count) {
  double total = 0;
  for (int64_t k = 0; k < token_count; ++k) total += Raw(layer, head, query, k);
  return Raw(layer, head, query, key) / total;
}

std::vector<float> FakeImportance(Importance kind, int64_t token_count) {
  std::vector<float> values;
  const auto total = static_cast<float>(token_count * (token_count + 1) / 2);
  for (int64_t i = 0; i < token_count; ++i) {
    const int64_t value = kind == Importance::kRolloutCls ? i + 1 : token_count - i;
    values.push_back(static_cast<float>(value) / total);
  }
  return values;
}

void FakeReads::Close() {
  absl::MutexLock lock(&mutex_);
  open_ = false;
}

void FakeReads::Open() {
  absl::MutexLock lock(&mutex_);
  open_ = true;
}

void FakeReads::AwaitReads(size_t count) const {
  absl::MutexLock lock(&mutex_);
  const auto reached = [&] { return count_ >= count; };
  mutex_.Await(absl::Condition(&reached));
}

size_t FakeReads::count() const {
  absl::MutexLock lock(&mutex_);
  return count_;
}

size_t FakeReads::largest() const {
  absl::MutexLock lock(&mutex_);
  return largest_;
}

std::vector<CaptureRequest> FakeReads::captures() const {
  absl::MutexLock lock(&mutex_);
  return captures_;
}

int64_t FakeReads::alive() const {
  absl::MutexLock lock(&mutex_);
  return alive_;
}

void FakeReads::Begin(size_t floats) {
  absl::MutexLock lock(&mutex_);
  ++count_;
  largest_ = std::max(largest_, floats);
  mutex_.Await(absl::Condition(&open_));
}

void FakeReads::AddCapture(const CaptureRequest& request) {
  absl::MutexLock lock(&mutex_);
  captures_.push_back(request);
}

void FakeReads::ChangeAlive(int64_t change) {
  absl::MutexLock lock(&mutex_);
  alive_ += change;
}

FakeAttentionSource::FakeAttentionSource(CaptureRequest request, int64_t token_count,
                                         std::shared_ptr<FakeReads> reads)
    : request_(std::move(request)), token_count_(token_count), reads_(std::move(reads)) {
  reads_->ChangeAlive(1);
}

FakeAttentionSource::~FakeAttentionSource() { reads_->ChangeAlive(-1); }

double FakeAttentionSource::MeanWeight(int64_t layer, int64_t query, int64_t key) const {
  double sum = 0;
  for (const int64_t head : request_.heads) {
    sum += FakeWeight(layer, head, query, key, token_count_);
  }
  return sum / static_cast<double>(request_.heads.size());
}

absl::StatusOr<AttentionMap> FakeAttentionSource::Read(int64_t layer,
                                                       const std::vector<int64_t>& heads,
                                                       int64_t row_begin, int64_t row_end) const {
  const bool mean = request_.form == AttentionForm::kMeanHeads;
  const std::vector<int64_t> read =
      mean ? std::vector<int64_t>{0} : (heads.empty() ? request_.heads : heads);
  const bool rows_held = !request_.eager || (row_begin >= request_.row_begin &&
                                             (request_.row_end < 0 || row_end <= request_.row_end));
  bool held = Holds(request_.layers, layer) && rows_held && row_begin >= 0 &&
              row_begin <= row_end && row_end <= token_count_;
  for (const int64_t head : read) held = held && (mean || Holds(request_.heads, head));
  if (!held) return absl::InternalError("the capture does not hold what was read");
  AttentionMap map;
  map.head_count = static_cast<int64_t>(read.size());
  map.row_count = row_end - row_begin;
  std::vector<double> row(static_cast<size_t>(token_count_));
  for (const int64_t head : read) {
    for (int64_t query = row_begin; query < row_end; ++query) {
      double total = 0;
      for (int64_t key = 0; key < token_count_; ++key) {
        double& weight = row[static_cast<size_t>(key)];
        weight = mean ? MeanWeight(layer, query, key) : Raw(layer, head, query, key);
        total += weight;
      }
      if (!mean) {
        for (double& weight : row) weight /= total;
      }
      AppendRow(row, query, request_.form, map.weights);
    }
  }
  const int64_t rows = map.head_count * map.row_count;
  map.key_count = rows == 0 ? 0 : static_cast<int64_t>(map.weights.size()) / rows;
  reads_->Begin(map.weights.size());
  return map;
}

absl::StatusOr<AttentionMap> FakeAttentionSource::ReadScores(int64_t layer,
                                                             const std::vector<int64_t>& heads,
                                                             int64_t row_begin,
                                                             int64_t row_end) const {
  if (request_.eager || request_.form != AttentionForm::kWeights) {
    return absl::InternalError("scores are kept only by lazy captures of weights");
  }
  absl::StatusOr<AttentionMap> map = Read(layer, heads, row_begin, row_end);
  if (map.ok()) {
    for (float& weight : map->weights) weight = std::log(weight);
  }
  return map;
}

absl::StatusOr<AttentionMap> FakeAttentionSource::Rollout(const std::vector<int64_t>& rows) const {
  AttentionMap map{1, static_cast<int64_t>(rows.size()), token_count_, {}};
  for (const int64_t row : rows) {
    // e_row A_last … A_first, each A = 0.5 mean + 0.5 I.
    std::vector<double> left(static_cast<size_t>(token_count_), 0.0);
    left[static_cast<size_t>(row)] = 1;
    for (size_t l = request_.layers.size(); l-- > 0;) {
      std::vector<double> next(left.size(), 0.0);
      for (size_t q = 0; q < left.size(); ++q) {
        next[q] += 0.5 * left[q];
        for (size_t k = 0; k < left.size(); ++k) {
          next[k] +=
              0.5 * left[q] *
              MeanWeight(request_.layers[l], static_cast<int64_t>(q), static_cast<int64_t>(k));
        }
      }
      left = std::move(next);
    }
    for (const double value : left) map.weights.push_back(static_cast<float>(value));
  }
  reads_->Begin(map.weights.size());
  return map;
}

absl::StatusOr<AttentionMap> FakeAttentionSource::Flow(const std::vector<int64_t>& rows) const {
  AttentionMap map{1, static_cast<int64_t>(rows.size()), token_count_, {}};
  for (const int64_t row : rows) {
    for (int64_t key = 0; key < token_count_; ++key) {
      map.weights.push_back(static_cast<float>(MeanWeight(request_.layers.front(), row, key)));
    }
  }
  reads_->Begin(map.weights.size());
  return map;
}

}  // namespace heed
