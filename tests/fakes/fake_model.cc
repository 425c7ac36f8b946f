#include "tests/fakes/fake_model.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "model/api/error.h"

namespace heed {
namespace {

void AppendToken(int64_t id, uint32_t segment, absl::string_view whole, absl::string_view word,
                 TokenizedItem& item, int64_t word_index = -1) {
  item.input.ids.push_back(id);
  item.input.segments.push_back(segment);
  TokenDetail token;
  token.id = id;
  token.segment = segment;
  token.special = word.empty();
  token.word = word_index;
  token.piece = word.empty() ? "[SPECIAL]" : std::string(word);
  if (!word.empty()) {
    token.start_byte = token.start_char = static_cast<uint32_t>(word.data() - whole.data());
    token.end_byte = token.end_char = token.start_byte + static_cast<uint32_t>(word.size());
  }
  item.tokens.push_back(std::move(token));
}

void AppendText(absl::string_view text, uint32_t segment, TokenizedItem& item) {
  int64_t index = 0;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    AppendToken(static_cast<int64_t>(word.size()) + 10, segment, text, word, item, index++);
  }
  AppendToken(FakeTokenizer::kSep, segment, text, "", item);
}

}  // namespace

absl::StatusOr<TokenizedItem> FakeTokenizer::Encode(absl::string_view text,
                                                    std::optional<absl::string_view> text_pair,
                                                    const EncodeOptions& options) const {
  if (text_pair && !accepts_pairs_) {
    return MakeError(absl::StatusCode::kInvalidArgument, "PAIR_NOT_SUPPORTED", "no pairs", {},
                     "text_pair");
  }
  TokenizedItem item;
  AppendToken(kCls, 0, text, "", item);
  AppendText(text, 0, item);
  if (text_pair) AppendText(*text_pair, 1, item);
  item.original_token_count = item.input.size();
  if (max_tokens_ != 0 && item.input.size() > max_tokens_) {
    if (options.too_long == TooLong::kError) {
      return MakeError(
          absl::StatusCode::kInvalidArgument, "TOO_MANY_TOKENS",
          absl::StrCat("the text has ", item.input.size(), " tokens, the limit is ", max_tokens_),
          {{"tokenCount", absl::StrCat(item.input.size())}, {"limit", absl::StrCat(max_tokens_)}},
          "text");
    }
    item.truncated = true;
    item.input.ids.resize(max_tokens_);
    item.input.segments.resize(max_tokens_);
    item.tokens.resize(max_tokens_);
    item.input.ids.back() = kSep;
    item.tokens.back() = TokenDetail{"[SPECIAL]", kSep, 0, 0, 0, 0, 0, true, -1};
  }
  if (!options.with_tokens) item.tokens.clear();
  return item;
}

FakeRunner::FakeRunner() {
  info_.version = "v1";
  info_.architecture = "fake";
  info_.positional_encoding = "learned";
  info_.attention_pattern = "dense";
  info_.layer_count = 2;
  info_.head_count = 4;
  info_.hidden_size = 8;
  info_.vocab_size = 100;
  info_.max_tokens = 16;
  info_.labels = {"no", "yes"};
  info_.task = "single_label_classification";
  info_.parameter_count = 1000;
  info_.weights_bytes = 4000;
  info_.packed_bytes = 2000;
}

RunOutput FakeRunner::Compute(const RaggedBatch& batch) {
  RunOutput output;
  for (size_t text = 0; text < batch.text_count(); ++text) {
    const auto sum = static_cast<float>(
        std::accumulate(batch.ids.begin() + batch.cu_seqlens[text],
                        batch.ids.begin() + batch.cu_seqlens[text + 1], int64_t{0}));
    output.logits.insert(output.logits.end(), {0.0f, sum});
    output.scores.insert(output.scores.end(), {1.0f / (1.0f + sum), sum / (1.0f + sum)});
  }
  return output;
}

RunOutput FakeRunner::ComputeTokens(const RaggedBatch& batch) {
  RunOutput output;
  for (const int64_t id : batch.ids) {
    for (int64_t label = 0; label < 3; ++label) {
      const bool mine = label == id % 3;
      output.token_logits.push_back(mine ? static_cast<float>(id) : 0.0f);
      output.token_scores.push_back(mine ? 0.75f : 0.125f);
    }
  }
  return output;
}

void FakeRunner::LabelTokens() {
  info_.labels = {"O", "B-X", "I-X"};
  info_.task = "token_classification";
}

void FakeRunner::AddExtras(const RaggedBatch& batch, const Wants& wants, RunOutput& output) const {
  const auto length = [&](int64_t text) { return batch.length(static_cast<size_t>(text)); };
  const auto fill = [](std::vector<int64_t>& list, int64_t count) {
    for (int64_t i = 0; i < count; ++i) list.push_back(i);
  };
  for (CaptureRequest capture : wants.captures) {
    reads_->AddCapture(capture);
    if (capture.layers.empty()) fill(capture.layers, info_.layer_count);
    if (capture.heads.empty()) fill(capture.heads, info_.head_count);
    output.captures.push_back(
        std::make_shared<FakeAttentionSource>(capture, length(capture.text), reads_));
  }
  for (const ImportanceRequest& request : wants.importance) {
    output.importance.push_back(FakeImportance(request.kind, length(request.text)));
  }
  for (size_t text = 0; wants.last_hidden_state && text < batch.text_count(); ++text) {
    for (int64_t t = batch.cu_seqlens[text]; t < batch.cu_seqlens[text + 1]; ++t) {
      const auto token = static_cast<size_t>(t);
      const auto position =
          batch.has_positions(text) ? static_cast<float>(batch.positions[token]) / 4 : 0;
      for (int64_t d = 0; d < info_.hidden_size; ++d) {
        output.last_hidden_state.push_back(static_cast<float>(batch.ids[token] + d) + position);
      }
    }
  }
}

absl::StatusOr<RunOutput> FakeRunner::Run(const RaggedBatch& batch, const Wants& wants) const {
  Behaviour behaviour;
  {
    absl::MutexLock lock(&mutex_);
    if (recording_) batches_.push_back(batch);
    mutex_.Await(absl::Condition(&open_));
    behaviour = behaviour_;
  }
  absl::StatusOr<RunOutput> output = info_.labels_tokens() ? ComputeTokens(batch) : Compute(batch);
  if (behaviour) output = behaviour(batch);
  if (output.ok()) AddExtras(batch, wants, *output);
  return output;
}

absl::StatusOr<PositionSimilarity> FakeRunner::SimilarityOfPositions(
    int64_t position_count, int64_t layer, const std::string& encoding) const {
  if (!encoding.empty() && encoding != "learned" && encoding != "bias") {
    return MakeError(absl::StatusCode::kInvalidArgument, "UNKNOWN_ENCODING", "no such encoding",
                     {{"encoding", encoding}});
  }
  PositionSimilarity similarity;
  similarity.encoding = encoding.empty() ? "learned" : encoding;
  similarity.matrix_count = encoding == "bias" ? info_.head_count : 1;
  similarity.position_count = position_count;
  for (int64_t head = 0; head < similarity.matrix_count; ++head) {
    for (int64_t i = 0; i < position_count; ++i) {
      for (int64_t j = 0; j < position_count; ++j) {
        similarity.values.push_back(static_cast<double>(100 * head + 10 * layer + i - j));
      }
    }
  }
  return similarity;
}

void FakeRunner::SetBehaviour(Behaviour behaviour) {
  absl::MutexLock lock(&mutex_);
  behaviour_ = std::move(behaviour);
}

void FakeRunner::Close() {
  absl::MutexLock lock(&mutex_);
  open_ = false;
}

void FakeRunner::SetRecording(bool recording) {
  absl::MutexLock lock(&mutex_);
  recording_ = recording;
}

void FakeRunner::Open() {
  absl::MutexLock lock(&mutex_);
  open_ = true;
}

void FakeRunner::AwaitRuns(size_t count) const {
  absl::MutexLock lock(&mutex_);
  const auto reached = [&] { return batches_.size() >= count; };
  mutex_.Await(absl::Condition(&reached));
}

std::vector<RaggedBatch> FakeRunner::batches() const {
  absl::MutexLock lock(&mutex_);
  return batches_;
}

TokenIds MakeIds(size_t text_tokens, int64_t id) {
  TokenIds ids;
  ids.ids.assign(text_tokens, id);
  ids.segments.assign(text_tokens, 0);
  return ids;
}

}  // namespace heed
