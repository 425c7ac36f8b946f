// Whole models against reference outputs of transformers: logits, scores and every hidden state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/api/error.h"
#include "model/engine.h"
#include "tests/model/golden.h"

namespace heed {
namespace {

// A deliberate mistake in the reference's own list moves a result by 2.8e-4 or more.
constexpr double kLogitTolerance = 1e-4;
constexpr double kScoreTolerance = 1e-5;
constexpr double kHiddenTolerance = 3e-4;
constexpr double kAttentionTolerance = 1e-4;

// Every folder of tests/golden that holds a checkpoint with cases.
std::vector<std::string> GoldenNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden")) {
    if (std::filesystem::exists(entry.path() / "model.safetensors.index.json") ||
        std::filesystem::exists(entry.path() / "model.safetensors")) {
      names.push_back(entry.path().filename());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The larger of `largest` and |a - b|; a NaN must not pass for a small number.
double Larger(double largest, double a, double b) {
  const double difference = std::abs(a - b);
  return difference <= largest ? largest : std::isnan(difference) ? 1e300 : difference;
}

double MaxDifference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = Larger(largest, a[i], b[i]);
  }
  return largest;
}

// The largest differences seen over the cases of one model.
struct Largest {
  double logits = 0;
  double hidden = 0;
  double attention = 0;
};

class ParityTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    cases_ = ReadGoldenCases(GetParam());
    ASSERT_GE(cases_.size(), 3u);
    LoadOptions options;
    options.headless = !cases_[0].Has("logits");
    absl::StatusOr<LoadedModel> model = LoadModel("tests/golden/" + GetParam(), options);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
  }

  RunOutput Run(const RaggedBatch& batch, const Wants& wants = {}) {
    absl::StatusOr<RunOutput> output = model_.runner->Run(batch, wants);
    EXPECT_TRUE(output.ok()) << output.status();
    return *std::move(output);
  }

  bool labels_tokens() const { return model_.info().task == "token_classification"; }

  std::vector<GoldenCase> cases_;
  LoadedModel model_;
};

// Where the rows of a ragged batch stand in a padded one.
class Alignment {
 public:
  Alignment(const GoldenCase& golden, const RaggedBatch& batch) : golden_(golden), batch_(batch) {}

  // Largest difference over real tokens. ragged: [T, D], padded: [B, L, D].
  double Tokens(const std::vector<float>& ragged, const std::vector<float>& padded) const {
    const size_t width = ragged.size() / batch_.token_count();
    EXPECT_EQ(padded.size(), golden_.rows() * golden_.width() * width);
    double largest = 0;
    ForEachToken([&](int64_t row, int64_t place, size_t token) {
      const size_t reference = (row * golden_.width() + place) * width;
      for (size_t d = 0; d < width; ++d) {
        largest = Larger(largest, ragged[token * width + d], padded[reference + d]);
      }
    });
    return largest;
  }

  // Largest difference over real queries and keys. maps: one a text, [H, n, n]; padded: [B, H, L,
  // L].
  double Maps(const std::vector<AttentionMap>& maps, const std::vector<float>& padded) const {
    double largest = 0;
    const int64_t width = golden_.width();
    ForEachToken([&](int64_t row, int64_t place, size_t token) {
      const AttentionMap& map = maps[row];
      const int64_t query = static_cast<int64_t>(token) - batch_.cu_seqlens[row];
      const int64_t begin = golden_.Real(row).first;
      for (int64_t head = 0; head < map.head_count; ++head) {
        for (int64_t key = 0; key < map.key_count; ++key) {
          const double ours = map.weights[(head * map.row_count + query) * map.key_count + key];
          const double reference =
              padded[((row * map.head_count + head) * width + place) * width + begin + key];
          largest = Larger(largest, ours, reference);
        }
      }
    });
    return largest;
  }

 private:
  // Calls visit(row, place in the padded row, token of the batch) for tokens that are not hidden.
  template <typename Visit>
  void ForEachToken(const Visit& visit) const {
    for (int64_t row = 0; row < golden_.rows(); ++row) {
      const int64_t begin = golden_.Real(row).first;
      for (int64_t token = batch_.cu_seqlens[row]; token < batch_.cu_seqlens[row + 1]; ++token) {
        if (batch_.key_mask[token] == 0) continue;
        visit(row, begin + token - batch_.cu_seqlens[row], static_cast<size_t>(token));
      }
    }
  }

  const GoldenCase& golden_;
  const RaggedBatch& batch_;
};

RaggedBatch BatchOf(const GoldenCase& golden) {
  RaggedBatch batch;
  for (int64_t row = 0; row < golden.rows(); ++row) batch.Append(golden.Row(row));
  return batch;
}

// Every map of every layer that the reference has.
Wants Everything(const GoldenCase& golden, int64_t layer_count) {
  Wants wants;
  wants.hidden_states = true;
  for (int64_t layer = 0; golden.attention_count() > 0 && layer < layer_count; ++layer) {
    for (int64_t row = 0; row < golden.rows(); ++row) {
      wants.attention.push_back({layer, row, {}, 0, -1});
    }
  }
  return wants;
}

// Attention maps as probabilities over real keys, under whichever name the reference has them.
std::string MapsName(const GoldenCase& golden, int64_t layer) {
  for (const char* const name :
       {"attention_probs.", "attentions_dense.", "attentions_effective."}) {
    if (golden.Has(name + std::to_string(layer))) return name + std::to_string(layer);
  }
  return "attentions." + std::to_string(layer);
}

double LogitDifference(const GoldenCase& golden, const RaggedBatch& batch, const RunOutput& output,
                       bool labels_tokens) {
  const std::vector<float> reference = golden.Values<float>("logits");
  if (labels_tokens) return Alignment(golden, batch).Tokens(output.token_logits, reference);
  double largest = 0;
  const size_t labels = reference.size() / golden.rows();
  EXPECT_EQ(output.logits.size(), reference.size());
  for (int64_t row = 0; row < golden.rows(); ++row) {
    // Padded on the left, the reference's head reads a pad token, which is not here.
    if (golden.id() == "left_padded" && golden.Real(row).first > 0) continue;
    for (size_t i = row * labels; i < (row + 1) * labels; ++i) {
      largest = Larger(largest, output.logits[i], reference[i]);
    }
  }
  return largest;
}

TEST_P(ParityTest, MatchesTheReference) {
  Largest largest;
  for (const GoldenCase& golden : cases_) {
    SCOPED_TRACE(golden.id());
    const RaggedBatch batch = BatchOf(golden);
    const Alignment alignment(golden, batch);
    const RunOutput output = Run(batch, Everything(golden, model_.info().layer_count));
    if (golden.Has("logits")) {
      const double difference = LogitDifference(golden, batch, output, labels_tokens());
      EXPECT_LE(difference, kLogitTolerance);
      largest.logits = std::max(largest.logits, difference);
      if (!golden.Has("probabilities")) {
        EXPECT_EQ(output.scores, output.logits);  // regression
      }
      if (golden.Has("probabilities") && !labels_tokens() && golden.id() != "left_padded") {
        EXPECT_LE(MaxDifference(output.scores, golden.Values<float>("probabilities")),
                  kScoreTolerance);
      }
    }
    std::vector<std::pair<std::string, size_t>> states = {
        {"last_hidden_state", output.hidden_states.size() - 1}};
    for (int64_t i = 0; i < golden.hidden_state_count(); ++i) {
      states.emplace_back("hidden_states." + std::to_string(i), i);
    }
    ASSERT_EQ(static_cast<int64_t>(output.hidden_states.size()), model_.info().layer_count + 1);
    for (const auto& [name, index] : states) {
      const double difference =
          alignment.Tokens(output.hidden_states[index], golden.Values<float>(name));
      EXPECT_LE(difference, kHiddenTolerance) << name;
      largest.hidden = std::max(largest.hidden, difference);
    }
    for (int64_t layer = 0; layer < golden.attention_count(); ++layer) {
      const auto first = output.attention.begin() + layer * golden.rows();
      const double difference = alignment.Maps({first, first + golden.rows()},
                                               golden.Values<float>(MapsName(golden, layer)));
      EXPECT_LE(difference, kAttentionTolerance) << "layer " << layer;
      largest.attention = std::max(largest.attention, difference);
    }
  }
  // The table of docs/parity.md.
  std::printf("PARITY | %s | %.1e | %.1e | %.1e |\n", GetParam().c_str(), largest.logits,
              largest.hidden, largest.attention);
}

// Asking for attention and hidden states changes no bit of the result.
TEST_P(ParityTest, AskingForMoreChangesNothing) {
  for (const GoldenCase& golden : cases_) {
    const RaggedBatch batch = BatchOf(golden);
    const RunOutput plain = Run(batch);
    const RunOutput full = Run(batch, Everything(golden, model_.info().layer_count));
    EXPECT_EQ(plain.logits, full.logits) << golden.id();
    EXPECT_EQ(plain.token_logits, full.token_logits) << golden.id();
  }
}

// The tokenizer turns the reference's texts into the reference's ids.
TEST_P(ParityTest, TokenizesTheSame) {
  for (const GoldenCase& golden : cases_) {
    SCOPED_TRACE(golden.id());
    for (int64_t row = 0; row < golden.rows(); ++row) {
      const auto& text = golden.description()["texts"][row];
      const std::string first = text[0];
      const std::string second = text[1].is_null() ? "" : text[1].get<std::string>();
      std::optional<absl::string_view> pair;
      if (!text[1].is_null()) pair = second;
      const auto item = model_.tokenizer->Encode(first, pair, {});
      if (golden.id() == "xlong") {
        // Longer than model_max_length.
        EXPECT_EQ(GetErrorDetail(item.status()).reason, "TOO_MANY_TOKENS");
        continue;
      }
      ASSERT_TRUE(item.ok()) << item.status();
      EXPECT_EQ(item->input.ids, golden.Row(row).ids);
      if (golden.Has("token_type_ids")) {
        EXPECT_EQ(item->input.segments, golden.Row(row).segments);
      }
    }
  }
}

// A text alone and among others: the ragged batch has no padding to leak.
TEST_P(ParityTest, AloneEqualsBatched) {
  std::vector<TokenIds> texts;
  RaggedBatch batch;
  for (const GoldenCase& golden : cases_) {
    for (int64_t row = 0; row < golden.rows(); ++row) {
      texts.push_back(golden.Row(row));
      texts.back().context_length = 0;
    }
  }
  for (size_t i = 0; texts.size() < 64; ++i) texts.push_back(texts[i]);
  for (const TokenIds& text : texts) batch.Append(text);
  Wants wants;
  wants.hidden_states = true;
  const std::vector<float> together = Run(batch, wants).hidden_states.back();
  const size_t width = together.size() / batch.token_count();
  for (size_t b = 0; b < texts.size(); ++b) {
    RaggedBatch alone;
    alone.Append(texts[b]);
    const auto begin = together.begin() + batch.cu_seqlens[b] * width;
    const std::vector<float> rows(begin, begin + batch.length(b) * width);
    EXPECT_LE(MaxDifference(Run(alone, wants).hidden_states.back(), rows), 1e-5) << "text " << b;
  }
}

// bfloat16 products stay near: what a served model may move by is measured by heed-bench-precision.
TEST_P(ParityTest, Bfloat16IsNear) {
  LoadOptions options;
  options.precision = "bf16";
  options.headless = !cases_[0].Has("logits");
  const absl::StatusOr<LoadedModel> rounded = LoadModel("tests/golden/" + GetParam(), options);
  ASSERT_TRUE(rounded.ok()) << rounded.status();
  Wants wants;
  wants.hidden_states = true;
  const RaggedBatch batch = BatchOf(cases_[1]);
  const auto output = rounded->runner->Run(batch, wants);
  ASSERT_TRUE(output.ok()) << output.status();
  const std::vector<float> exact = Run(batch, wants).hidden_states.back();
  double square = 0;
  for (const float value : exact) square += static_cast<double>(value) * value;
  const double scale = std::sqrt(square / static_cast<double>(exact.size()));
  const double difference = MaxDifference(output->hidden_states.back(), exact);
  EXPECT_GT(difference, 0);
  EXPECT_LT(difference, 0.1 * scale);
}

INSTANTIATE_TEST_SUITE_P(Golden, ParityTest, testing::ValuesIn(GoldenNames()),
                         [](const auto& param_info) { return param_info.param; });

// What Heed does not compute is refused by the name of the architecture or class.
TEST(RefusedTest, NamesWhatIsLeftOut) {
  for (const auto& [folder, name] :
       {std::pair("funnel", "funnel"), std::pair("funnel_factorized", "funnel"),
        std::pair("mobilebert", "mobilebert"),
        std::pair("t5_seq_cls", "T5ForSequenceClassification")}) {
    const auto model = LoadModel(std::string("tests/golden/refused/") + folder);
    EXPECT_EQ(model.status().code(), absl::StatusCode::kUnimplemented) << folder;
    EXPECT_THAT(model.status().message(), testing::HasSubstr(name)) << folder;
  }
}

}  // namespace
}  // namespace heed
