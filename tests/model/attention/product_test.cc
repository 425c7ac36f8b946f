// Every positional encoding with every attention pattern, against the formulas in float64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "model/attention/attention.h"
#include "tests/model/attention/naive.h"

namespace heed {
namespace {

constexpr int64_t kHeads = 3;
constexpr int64_t kHeadSize = 8;
constexpr double kScale = 0.3;

// A pattern and which keys it lets a query see, from its definition.
struct PatternCase {
  std::string name;
  std::string pattern;
  PatternOptions options;
  std::function<bool(int64_t i, int64_t j, int64_t n)> visible;
  std::function<double(int64_t i, int64_t j, int64_t n)> extra;
};

bool IsGlobalBlock(int64_t i, int64_t n) { return i / 4 == 0 || i / 4 == (n - 1) / 4; }

std::vector<PatternCase> PatternCases() {
  return {
      {"dense", "dense", {}, [](int64_t, int64_t, int64_t) { return true; }, {}},
      {"window_0",
       "sliding_window",
       {{"window", "0"}},
       [](int64_t i, int64_t j, int64_t) { return i == j; },
       {}},
      {"window_3",
       "sliding_window",
       {{"window", "3"}},
       [](int64_t i, int64_t j, int64_t) { return std::abs(i - j) <= 3; },
       {}},
      {"block_sparse",
       "block_sparse",
       {{"block_size", "4"}, {"global_stride", "5"}, {"global_tokens", "9"}},
       [](int64_t i, int64_t j, int64_t) {
         const auto global = [](int64_t t) { return t / 4 % 5 == 0 || t == 9; };
         return std::abs(i / 4 - j / 4) <= 1 || global(i) || global(j);
       },
       {}},
      {"longformer",
       "longformer",
       {{"window", "2"}, {"global_tokens", "0,7"}},
       [](int64_t i, int64_t j, int64_t) {
         const auto global = [](int64_t t) { return t == 0 || t == 7; };
         return std::abs(i - j) <= 2 || global(i) || global(j);
       },
       {}},
      {"big_bird",
       "big_bird",
       {{"block_size", "4"}, {"random_blocks", "1"}},
       [](int64_t i, int64_t j, int64_t n) {
         if (n <= 28) return true;  // (5 + 2 · 1) blocks
         return IsGlobalBlock(i, n) || IsGlobalBlock(j, n) || std::abs(i / 4 - j / 4) <= 1;
       },
       [](int64_t i, int64_t j, int64_t n) {
         return n > 28 && !IsGlobalBlock(i, n) && j / 4 == 0 ? std::log(2.0) : 0.0;
       }},
  };
}

TokenIds Text(int64_t length, std::vector<int64_t> positions = {},
              std::vector<uint8_t> key_mask = {}) {
  TokenIds text;
  text.ids.assign(length, 1);
  for (int64_t i = 0; i < length; ++i) text.segments.push_back(i > length / 2);
  text.positions = std::move(positions);
  text.key_mask = std::move(key_mask);
  return text;
}

// Texts of many shapes in one batch: two alike, one long enough for several tiles of every sparse
// pattern, one token, hidden keys, all keys hidden, positions with gaps and out of order.
RaggedBatch Batch() {
  RaggedBatch batch;
  batch.Append(Text(11));
  batch.Append(Text(11));
  batch.Append(Text(50));
  batch.Append(Text(1));
  batch.Append(Text(9, {}, {1, 1, 0, 1, 1, 0, 0, 1, 1}));
  batch.Append(Text(5, {}, {0, 0, 0, 0, 0}));
  batch.Append(Text(6, {4, 0, 30, 31, 12, 45}));
  return batch;
}

std::vector<std::vector<double>> Rows(const at::Tensor& x, int64_t head, int64_t begin,
                                      int64_t end) {
  std::vector<std::vector<double>> rows;
  for (int64_t i = begin; i < end; ++i) {
    const at::Tensor row = x[i][head].to(at::kDouble).contiguous();
    rows.emplace_back(row.data_ptr<double>(), row.data_ptr<double>() + row.numel());
  }
  return rows;
}

// Keeps the largest difference, written so that a NaN does not pass for a small one.
void Keep(double& largest, double a, double b) {
  const double difference = std::abs(a - b);
  if (!(difference <= largest)) largest = difference;
}

class ProductTest : public testing::Test {
 protected:
  ProductTest() : batch_(Batch()), layout_(batch_) {
    at::manual_seed(7);
    const auto tokens = static_cast<int64_t>(batch_.token_count());
    projections_ = {at::randn({tokens, kHeads, kHeadSize}), at::randn({tokens, kHeads, kHeadSize}),
                    at::randn({tokens, kHeads, kHeadSize})};
    for (size_t text = 0; text < batch_.text_count(); ++text) {
      requests_.push_back({0, static_cast<int64_t>(text), {}, 0, -1});
    }
  }

  // A copy, since encodings may rotate in place.
  QueryKeyValue Projections() const {
    return {projections_.query.clone(), projections_.key.clone(), projections_.value.clone()};
  }

  void Expect(const NaiveEncoding& naive, const PatternCase& pattern) {
    SCOPED_TRACE(naive.name + " with " + pattern.name);
    AttentionSettings settings;
    settings.scale = kScale;
    const auto made = MakeAttentionPattern(pattern.pattern, pattern.options);
    ASSERT_TRUE(made.ok()) << made.status();
    settings.pattern = *made;
    settings.encodings = {
        Make(naive.name, MakeSpec(kHeads, kHeadSize, naive.weights, naive.options))};
    AttentionRecorder recorder(requests_, batch_, kHeads);
    for (const AttentionRequest& request : requests_) recorder.Keep(request);
    const at::Tensor context = Attend(Projections(), nullptr, settings, layout_, &recorder);
    const std::vector<AttentionMap> maps = recorder.Take();
    const at::Tensor unasked = Attend(Projections(), nullptr, settings, layout_, nullptr);
    EXPECT_TRUE(context.equal(unasked)) << "asking for weights changed the context";
    for (size_t text = 0; text < batch_.text_count(); ++text) {
      ExpectSame(recorder.TakeKept(text), maps[text], batch_.length(text));
      for (int64_t head = 0; head < kHeads; ++head) {
        Compare(NaiveAttend(Head(text, head, pattern), naive), text, head, context, maps[text]);
      }
    }
  }

 private:
  NaiveHead Head(size_t text, int64_t head, const PatternCase& pattern) const {
    const int64_t begin = batch_.cu_seqlens[text];
    const int64_t end = batch_.cu_seqlens[text + 1];
    const int64_t n = end - begin;
    NaiveHead h;
    h.head = head;
    h.scale = kScale;
    h.query = Rows(projections_.query, head, begin, end);
    h.key = Rows(projections_.key, head, begin, end);
    h.value = Rows(projections_.value, head, begin, end);
    for (int64_t i = 0; i < n; ++i) {
      h.positions.push_back(batch_.positions[begin + i]);
      h.segments.push_back(batch_.segments[begin + i]);
      h.visible.emplace_back();
      h.extra.emplace_back();
      for (int64_t j = 0; j < n; ++j) {
        h.visible[i].push_back(pattern.visible(i, j, n) && batch_.key_mask[begin + j] != 0);
        h.extra[i].push_back(pattern.extra ? pattern.extra(i, j, n) : 0);
      }
    }
    return h;
  }

  // Rows computed later are those that were recorded: all of them, and some of some heads.
  static void ExpectSame(const LazyLayer& kept, const AttentionMap& recorded, int64_t n) {
    const at::Tensor expected =
        at::tensor(recorded.weights).view({recorded.head_count, recorded.row_count, n});
    const auto difference = [](const at::Tensor& a, const at::Tensor& b) {
      return (a - b).abs().max().item<float>();
    };
    const AttentionForm form = AttentionForm::kWeights;
    EXPECT_LT(difference(kept.Read(form, {0, 1, 2}, 0, n, false), expected), 2e-6);
    const int64_t begin = n / 3;
    const int64_t end = std::max(begin + 1, n - 2);
    const at::Tensor some = expected.index_select(0, at::tensor({2, 0})).slice(1, begin, end);
    EXPECT_LT(difference(kept.Read(form, {2, 0}, begin, end, false), some), 2e-6);
    // Scores are what the weights are the softmax of; rows of zeros have none.
    const at::Tensor weights = kept.Read(form, {2, 0}, begin, end, true).softmax(-1);
    EXPECT_LT(difference(weights.nan_to_num(0), some), 2e-6);
  }

  void Compare(const NaiveResult& expected, size_t text, int64_t head, const at::Tensor& context,
               const AttentionMap& map) {
    const int64_t n = map.key_count;
    double worst_weight = 0;
    double worst_context = 0;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        Keep(worst_weight, map.weights[(head * n + i) * n + j], expected.weights[i][j]);
      }
      for (int64_t d = 0; d < kHeadSize; ++d) {
        const double ours = context[batch_.cu_seqlens[text] + i][head][d].item<float>();
        Keep(worst_context, ours, expected.context[i][d]);
      }
    }
    EXPECT_LT(worst_weight, 5e-6) << "weights of text " << text << ", head " << head;
    EXPECT_LT(worst_context, 2e-5) << "context of text " << text << ", head " << head;
  }

  const RaggedBatch batch_;
  const AttentionLayout layout_;
  QueryKeyValue projections_;
  std::vector<AttentionRequest> requests_;
};

TEST_F(ProductTest, EveryEncodingWithEveryPattern) {
  for (const NaiveEncoding& encoding : NaiveEncodings(kHeads, kHeadSize)) {
    for (const PatternCase& pattern : PatternCases()) Expect(encoding, pattern);
  }
}

// The lists above are the registered ones: a new encoding or pattern has to join the product.
TEST_F(ProductTest, CoversWhatIsRegistered) {
  std::set<std::string> encodings;
  for (const NaiveEncoding& encoding : NaiveEncodings(kHeads, kHeadSize)) {
    encodings.insert(encoding.name);
  }
  EXPECT_THAT(PositionalEncodingNames(), testing::ElementsAreArray(encodings));
  std::set<std::string> patterns;
  for (const PatternCase& pattern : PatternCases()) patterns.insert(pattern.pattern);
  EXPECT_THAT(AttentionPatternNames(), testing::ElementsAreArray(patterns));
}

}  // namespace
}  // namespace heed
