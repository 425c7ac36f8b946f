#include "model/engine.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/version.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/api/error.h"
#include "model/attention_collector.h"
#include "model/catch_exceptions.h"
#include "model/encoder/encoder.h"
#include "model/encoder/text_cnn.h"
#include "model/heads/classifier_head.h"
#include "model/pretrained.h"

namespace heed {
namespace {

constexpr int kMaxNamedTensors = 8;

std::vector<float> ToVector(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.contiguous();
  const float* const data = plain.const_data_ptr<float>();
  return std::vector<float>(data, data + plain.numel());
}

class TorchRunner : public Runner {
 public:
  TorchRunner(ModelInfo info, Encoder encoder, std::optional<ClassifierHead> head)
      : info_(std::move(info)), encoder_(std::move(encoder)), head_(std::move(head)) {}

  const ModelInfo& info() const override { return info_; }

  absl::StatusOr<RunOutput> Run(const RaggedBatch& batch, const Wants& wants) const override {
    if (absl::Status status = encoder_.Check(batch); !status.ok()) return status;
    if (absl::Status status = CheckWants(wants, batch, info_); !status.ok()) return status;
    return CatchExceptions([&]() -> absl::StatusOr<RunOutput> {
      const c10::InferenceMode guard;
      return Compute(batch, wants);
    });
  }

  absl::StatusOr<PositionSimilarity> SimilarityOfPositions(
      int64_t position_count, int64_t layer, const std::string& encoding) const override {
    return CatchExceptions([&]() -> absl::StatusOr<PositionSimilarity> {
      const c10::InferenceMode guard;
      return encoder_.SimilarityOfPositions(position_count, layer, encoding);
    });
  }

 private:
  absl::StatusOr<RunOutput> Compute(const RaggedBatch& batch, const Wants& wants) const {
    std::vector<at::Tensor> states;
    AttentionCollector collector(wants, batch, info_);
    ForwardRecord record;
    if (wants.hidden_states) record.hidden_states = &states;
    record.attention = collector.recorder();
    const at::Tensor last = encoder_.Forward(batch, record);
    RunOutput output;
    if (head_.has_value()) {
      const at::Tensor logits = head_->Forward(last, batch);
      const bool tokens = head_->labels_tokens();
      (tokens ? output.token_logits : output.logits) = ToVector(logits);
      (tokens ? output.token_scores : output.scores) =
          ToVector(Scores(logits, info_.score_function));
    }
    for (const at::Tensor& state : states) output.hidden_states.push_back(ToVector(state));
    if (wants.last_hidden_state) output.last_hidden_state = ToVector(last);
    if (absl::Status status = collector.Finish(output); !status.ok()) return status;
    return output;
  }

  const ModelInfo info_;
  const Encoder encoder_;
  const std::optional<ClassifierHead> head_;
};

// A classifier without attention.
class TextCnnRunner : public Runner {
 public:
  TextCnnRunner(ModelInfo info, TextCnn model) : info_(std::move(info)), model_(std::move(model)) {}

  const ModelInfo& info() const override { return info_; }

  absl::StatusOr<RunOutput> Run(const RaggedBatch& batch, const Wants& wants) const override {
    if (wants.hidden_states || wants.last_hidden_state || !wants.attention.empty() ||
        !wants.captures.empty() || !wants.importance.empty()) {
      return MakeError(absl::StatusCode::kFailedPrecondition, "NO_ATTENTION",
                       "a TextCNN has no attention and no hidden states");
    }
    if (absl::Status status = model_.Check(batch); !status.ok()) return status;
    return CatchExceptions([&]() -> absl::StatusOr<RunOutput> {
      const c10::InferenceMode guard;
      const at::Tensor logits = model_.Forward(batch);
      RunOutput output;
      output.logits = ToVector(logits);
      output.scores = ToVector(Scores(logits, info_.score_function));
      return output;
    });
  }

 private:
  const ModelInfo info_;
  const TextCnn model_;
};

// "rope", or "learned+mpnet_bias" where several act.
std::string EncodingName(const ModelConfig& config) {
  std::vector<std::string> names;
  for (const EncodingConfig& encoding : config.encodings) {
    if (std::find(names.begin(), names.end(), encoding.name) == names.end()) {
      names.push_back(encoding.name);
    }
  }
  return names.empty() ? "none" : absl::StrJoin(names, "+");
}

// "dense", or "alternating" where layers differ.
std::string PatternName(const ModelConfig& config) {
  if (config.text_cnn.filter_count > 0) return "none";
  for (const PatternConfig& pattern : config.patterns) {
    if (pattern.name != config.patterns[0].name) return "alternating";
  }
  return config.patterns[0].name;
}

ModelInfo DescribeModel(const Pretrained& pretrained) {
  const ModelConfig& config = pretrained.config;
  ModelInfo info;
  info.version = pretrained.checkpoint.Version();
  info.architecture = config.architecture;
  info.positional_encoding = EncodingName(config);
  info.attention_pattern = PatternName(config);
  info.layer_count = config.layer_count;
  info.head_count = config.head_count;
  info.hidden_size = config.hidden_size;
  info.vocab_size = config.vocab_size;
  info.max_tokens = pretrained.max_tokens;
  info.has_attention = config.text_cnn.filter_count == 0;
  info.summary_token = config.head.pooling == Pooling::kLast ? -1 : 0;
  if (pretrained.encoder.has_value()) info.position_limit = pretrained.encoder->position_limit();
  info.labels = config.labels;
  info.task = config.task;
  info.score_function = config.score_function;
  info.accepts_pairs = pretrained.accepts_pairs;
  return info;
}

std::vector<std::string> Notes(const WeightMap& weights) {
  if (weights.ignored.empty()) return {};
  const std::vector<std::string>& names = weights.ignored;
  const size_t shown = std::min<size_t>(names.size(), kMaxNamedTensors);
  return {absl::StrCat(names.size(), " tensors have no part in the model and were ignored: ",
                       absl::StrJoin(names.begin(), names.begin() + shown, ", "),
                       shown < names.size() ? ", …" : "")};
}

// What each part takes, and with it the whole.
void AddParts(const Pretrained& pretrained, const std::map<std::string, int64_t>& head_bytes,
              ModelInfo& info, LoadedModel& model) {
  std::map<std::string, ModelPart> parts;
  for (const auto& [name, count] : ParametersByPart(pretrained.weights)) {
    parts[name].parameter_count = count;
  }
  for (const auto* const bytes : {&pretrained.weights_bytes, &head_bytes}) {
    for (const auto& [name, size] : *bytes) parts[name].bytes += size;
  }
  for (auto& [name, part] : parts) {
    part.name = name;
    info.parameter_count += part.parameter_count;
    info.weights_bytes += part.bytes;
    model.parts.push_back(part);
  }
}

absl::Status CheckOptions(const LoadOptions& options) {
  if (options.device != "cpu") {
    return MakeError(absl::StatusCode::kUnimplemented, "UNSUPPORTED_DEVICE",
                     absl::StrCat("device \"", options.device, "\" is not supported; use cpu"),
                     {{"device", options.device}});
  }
  if (options.precision != "auto" && options.precision != "fp32" && options.precision != "bf16") {
    return MakeError(absl::StatusCode::kUnimplemented, "UNSUPPORTED_PRECISION",
                     absl::StrCat("precision \"", options.precision,
                                  "\" is not supported; use auto, fp32 or bf16"),
                     {{"precision", options.precision}});
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadedModel> Load(const std::string& path, const LoadOptions& options) {
  PretrainedOptions open;
  open.purpose = options.headless ? ConfigPurpose::kEncoder : ConfigPurpose::kClassifier;
  open.bfloat16 = options.precision == "bf16";
  absl::StatusOr<Pretrained> pretrained = OpenPretrained(path, open);
  if (!pretrained.ok()) return pretrained.status();
  ModelInfo info = DescribeModel(*pretrained);
  info.precision = open.bfloat16 && pretrained->encoder.has_value() ? "bf16" : "fp32";
  LoadedModel model;
  model.notes = Notes(pretrained->weights);
  model.tokenizer = pretrained->tokenizer;
  if (pretrained->text_cnn.has_value()) {
    AddParts(*pretrained, {}, info, model);
    model.runner =
        std::make_shared<TextCnnRunner>(std::move(info), *std::move(pretrained->text_cnn));
    return model;
  }
  std::optional<ClassifierHead> head;
  std::map<std::string, int64_t> head_bytes;
  if (pretrained->config.head.pooling != Pooling::kNone) {
    // A few rows, and the last to round: kept in float32.
    const Weights weights(pretrained->weights);
    auto made = ClassifierHead::Create(pretrained->config, weights);
    if (!made.ok()) return made.status();
    head = *std::move(made);
    head_bytes = weights.bytes_by_part();
  }
  AddParts(*pretrained, head_bytes, info, model);
  model.runner = std::make_shared<TorchRunner>(std::move(info), *std::move(pretrained->encoder),
                                               std::move(head));
  return model;
}

}  // namespace

void SetComputeThreads(int thread_count) { at::set_num_threads(thread_count); }

std::string LibTorchVersion() { return TORCH_VERSION; }

absl::StatusOr<LoadedModel> LoadModel(const std::string& path, const LoadOptions& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  return CatchExceptions([&]() -> absl::StatusOr<LoadedModel> {
    const c10::InferenceMode guard;
    return Load(path, options);
  });
}

}  // namespace heed
