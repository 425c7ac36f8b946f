#include "model/encoder/encoder.h"

#include <ATen/ops/arange.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/api/error.h"
#include "model/encoder/check_batch.h"

namespace heed {
namespace {

// The smaller of two limits, 0 standing for none.
int64_t SmallerLimit(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

}  // namespace

absl::StatusOr<Encoder> Encoder::Create(const ModelConfig& config, const Weights& weights) {
  Encoder encoder;
  encoder.config_ = config;
  if (absl::Status status = encoder.AddEncodings(weights); !status.ok()) return status;
  encoder.embeddings_ = Embeddings(config, weights, encoder.encodings_);
  if (absl::Status status = encoder.AddLayers(weights); !status.ok()) return status;
  if (config.convolution.kernel_size > 0) {
    auto convolution = Convolution::Create(config, weights);
    if (!convolution.ok()) return convolution.status();
    encoder.convolution_ = *std::move(convolution);
  }
  if (config.final_norm) {
    encoder.final_norm_ = weights.GetNorm("final_norm", config.norm, config.norm_eps);
  }
  return encoder;
}

absl::Status Encoder::AddEncodings(const Weights& weights) {
  max_tokens_ = config_.max_tokens;
  settings_.resize(config_.layer_count);
  for (const EncodingConfig& encoding : config_.encodings) {
    EncodingSpec spec;
    spec.hidden_size = config_.embedding_width();
    spec.head_count = config_.head_count;
    spec.head_size = config_.head_width();
    spec.layer_count = config_.layer_count;
    spec.layers = encoding.layers;
    spec.max_positions = config_.position_count;
    spec.options = encoding.options;
    spec.weight = [&weights](absl::string_view role) { return weights.Find(role); };
    auto made = MakePositionalEncoding(encoding.name, spec);
    if (!made.ok()) return made.status();
    encodings_.push_back(*std::move(made));
    encoding_names_.push_back(encoding.name);
    position_limit_ = SmallerLimit(position_limit_, encodings_.back()->position_limit());
    for (int64_t layer = 0; layer < config_.layer_count; ++layer) {
      const auto& layers = encoding.layers;
      if (layers.empty() || std::find(layers.begin(), layers.end(), layer) != layers.end()) {
        settings_[layer].encodings.push_back(encodings_.back());
      }
    }
  }
  max_tokens_ = SmallerLimit(max_tokens_, position_limit_);
  return absl::OkStatus();
}

absl::Status Encoder::AddLayers(const Weights& weights) {
  std::vector<std::shared_ptr<const AttentionPattern>> patterns;
  for (const PatternConfig& pattern : config_.patterns) {
    auto made = MakeAttentionPattern(pattern.name, pattern.options);
    if (!made.ok()) return made.status();
    patterns.push_back(*std::move(made));
    accepts_globals_ = accepts_globals_ || patterns.back()->accepts_globals();
  }
  for (int64_t source = 0; source < config_.source_count(); ++source) {
    absl::StatusOr<EncoderLayer> layer = EncoderLayer::Create(config_, weights, source);
    if (!layer.ok()) return layer.status();
    sources_.push_back(*std::move(layer));
  }
  for (int64_t layer = 0; layer < config_.layer_count; ++layer) {
    AttentionSettings& settings = settings_[layer];
    settings.layer = layer;
    settings.scale = config_.attention_scale != 0
                         ? config_.attention_scale
                         : 1 / std::sqrt(static_cast<double>(config_.head_width()));
    settings.pattern = patterns[config_.layer_patterns.empty() ? 0 : config_.layer_patterns[layer]];
  }
  return absl::OkStatus();
}

absl::Status Encoder::Check(const RaggedBatch& batch) const {
  absl::Status status = CheckBatchShape(batch);
  if (status.ok()) status = CheckRange(batch.ids, embeddings_.vocab_size(), "token id");
  if (status.ok() && embeddings_.segment_limit() > 0) {
    status = CheckRange(batch.segments, embeddings_.segment_limit(), "segment");
  }
  if (status.ok()) {
    // Half the range, so that differences of positions are representable.
    constexpr int64_t kAnyPosition = int64_t{1} << 62;
    status = CheckRange(batch.positions, position_limit_ > 0 ? position_limit_ : kAnyPosition,
                        "position");
  }
  if (status.ok()) status = CheckLengths(batch, max_tokens_);
  if (status.ok() && !batch.global_mask.empty() && !accepts_globals_) {
    status = MakeError(absl::StatusCode::kInvalidArgument, "BAD_BATCH",
                       "global_mask: the model has no global attention");
  }
  return status;
}

absl::StatusOr<PositionSimilarity> Encoder::SimilarityOfPositions(
    int64_t position_count, int64_t layer, const std::string& encoding) const {
  if (layer < 0 || layer >= config_.layer_count) {
    return OutOfRange("layer", layer, config_.layer_count);
  }
  if (position_count < 1) {
    return MakeError(absl::StatusCode::kInvalidArgument, "OUT_OF_RANGE",
                     "position_count must be at least 1");
  }
  if (position_limit_ > 0 && position_count > position_limit_) {
    return OutOfRange("the last position", position_count - 1, position_limit_);
  }
  const at::Tensor positions = at::arange(position_count, at::TensorOptions(at::kLong));
  bool named = encoding.empty();
  for (size_t i = 0; i < encodings_.size(); ++i) {
    const auto& acting = settings_[layer].encodings;
    if (std::find(acting.begin(), acting.end(), encodings_[i]) == acting.end()) continue;
    if (!encoding.empty() && encoding != encoding_names_[i]) continue;
    named = true;
    const auto similarity = encodings_[i]->Similarity(layer, positions);
    if (!similarity.has_value()) continue;
    PositionSimilarity result;
    result.encoding = encoding_names_[i];
    result.matrix_count = similarity->size(0);
    result.position_count = position_count;
    const at::Tensor values = similarity->contiguous();
    const double* const data = values.const_data_ptr<double>();
    result.values.assign(data, data + values.numel());
    return result;
  }
  if (named) return NoPositionSimilarity();
  return MakeError(absl::StatusCode::kInvalidArgument, "UNKNOWN_ENCODING",
                   absl::StrCat("no positional encoding \"", encoding, "\" acts in layer ", layer,
                                "; there is ", absl::StrJoin(encoding_names_, ", ")),
                   {{"encoding", encoding}});
}

const RaggedBatch& Encoder::Placed(const RaggedBatch& batch, RaggedBatch& storage) const {
  if (config_.position_rule != PositionRule::kSkipPads ||
      std::find(batch.ids.begin(), batch.ids.end(), config_.pad_token_id) == batch.ids.end()) {
    return batch;
  }
  storage = batch;
  for (size_t b = 0; b < batch.text_count(); ++b) {
    const int64_t begin = batch.cu_seqlens[b];
    bool chosen = false;  // positions that a caller chose stay
    for (int64_t i = 0; i < batch.length(b); ++i) {
      chosen = chosen || batch.positions[begin + i] != i;
    }
    int64_t next = 0;
    for (int64_t i = begin; i < batch.cu_seqlens[b + 1] && !chosen; ++i) {
      storage.positions[i] = batch.ids[i] == config_.pad_token_id ? -1 : next++;
    }
  }
  return storage;
}

at::Tensor Encoder::Forward(const RaggedBatch& given, const ForwardRecord& record) const {
  RaggedBatch storage;
  const RaggedBatch& batch = Placed(given, storage);
  const AttentionLayout layout(batch);
  at::Tensor x = embeddings_.Forward(batch, layout.tokens);
  if (record.hidden_states != nullptr) record.hidden_states->push_back(x);
  for (int64_t i = 0; i < config_.layer_count; ++i) {
    const int64_t source = config_.layer_sources.empty() ? i : config_.layer_sources[i];
    const at::Tensor input = x;
    x = sources_[source].Forward(x, settings_[i], layout, record.attention);
    if (i == 0 && convolution_.has_value()) x = convolution_->Forward(input, x, batch);
    if (i + 1 == config_.layer_count) x = final_norm_(x);
    if (record.hidden_states != nullptr) record.hidden_states->push_back(x);
  }
  return x;
}

}  // namespace heed
