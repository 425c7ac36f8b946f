#include "model/engine.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <torch/version.h>

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/api/error.h"
#include "model/encoder/encoder.h"
#include "model/heads/sequence_head.h"
#include "model/pretrained.h"

namespace heed {
namespace {

constexpr int kMaxNamedTensors = 8;

absl::Status OutOfMemory(absl::string_view what) {
  return MakeError(absl::StatusCode::kResourceExhausted, "OUT_OF_MEMORY",
                   absl::StrCat("out of memory: ", what));
}

// Runs `body`, which returns a status or a StatusOr, and turns what LibTorch throws into a status.
template <typename Body>
auto CatchExceptions(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return OutOfMemory("allocation failed");
  } catch (const c10::Error& error) {
    const std::string what = error.what_without_backtrace();
    // The CPU allocator throws a plain c10::Error.
    if (absl::StrContains(what, "not enough memory") || absl::StrContains(what, "out of memory")) {
      return OutOfMemory(what);
    }
    return MakeError(absl::StatusCode::kInternal, "COMPUTE_FAILED", what);
  } catch (const std::exception& error) {
    return MakeError(absl::StatusCode::kInternal, "COMPUTE_FAILED", error.what());
  }
}

std::vector<float> ToVector(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.contiguous();
  const float* const data = plain.const_data_ptr<float>();
  return std::vector<float>(data, data + plain.numel());
}

class TorchRunner : public Runner {
 public:
  TorchRunner(ModelInfo info, Encoder encoder, SequenceHead head)
      : info_(std::move(info)), encoder_(std::move(encoder)), head_(std::move(head)) {}

  const ModelInfo& info() const override { return info_; }

  absl::StatusOr<RunOutput> Run(const RaggedBatch& batch, const Wants& wants) const override {
    if (absl::Status status = encoder_.Check(batch); !status.ok()) return status;
    return CatchExceptions([&]() -> absl::StatusOr<RunOutput> {
      const c10::InferenceMode guard;
      std::vector<at::Tensor> states;
      const at::Tensor last = encoder_.Forward(batch, wants.hidden_states ? &states : nullptr);
      const at::Tensor logits = head_.Forward(last, batch);
      RunOutput output;
      output.logits = ToVector(logits);
      output.scores = ToVector(Scores(logits, info_.score_function));
      for (const at::Tensor& state : states) output.hidden_states.push_back(ToVector(state));
      return output;
    });
  }

 private:
  const ModelInfo info_;
  const Encoder encoder_;
  const SequenceHead head_;
};

ModelInfo DescribeModel(const Pretrained& pretrained) {
  const ModelConfig& config = pretrained.config;
  ModelInfo info;
  info.version = pretrained.checkpoint.Version();
  info.architecture = config.architecture;
  info.positional_encoding = config.positional_encoding;
  info.attention_pattern = "dense";
  info.layer_count = config.layer_count;
  info.head_count = config.head_count;
  info.hidden_size = config.hidden_size;
  info.vocab_size = config.vocab_size;
  info.max_tokens = pretrained.max_tokens;
  info.labels = config.labels;
  info.task = config.task;
  info.score_function = config.score_function;
  info.accepts_pairs = config.segment_count >= 2;
  info.parameter_count = ParameterCount(pretrained.weights);
  info.weights_bytes = WeightsBytes(pretrained.weights);
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

absl::Status CheckOptions(const LoadOptions& options) {
  if (options.device != "cpu") {
    return MakeError(absl::StatusCode::kUnimplemented, "UNSUPPORTED_DEVICE",
                     absl::StrCat("device \"", options.device, "\" is not supported; use cpu"),
                     {{"device", options.device}});
  }
  if (options.precision != "auto" && options.precision != "fp32") {
    return MakeError(
        absl::StatusCode::kUnimplemented, "UNSUPPORTED_PRECISION",
        absl::StrCat("precision \"", options.precision, "\" is not supported; use auto or fp32"),
        {{"precision", options.precision}});
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadedModel> Load(const std::string& path) {
  absl::StatusOr<Pretrained> pretrained = OpenPretrained(path, ConfigPurpose::kClassifier);
  if (!pretrained.ok()) return pretrained.status();
  SequenceHead head(pretrained->config, Weights(pretrained->weights));
  LoadedModel model;
  model.notes = Notes(pretrained->weights);
  model.tokenizer = pretrained->tokenizer;
  model.runner = std::make_shared<TorchRunner>(DescribeModel(*pretrained),
                                               std::move(pretrained->encoder), std::move(head));
  return model;
}

}  // namespace

void SetComputeThreads(int thread_count) { at::set_num_threads(thread_count); }

std::string LibTorchVersion() { return TORCH_VERSION; }

absl::StatusOr<LoadedModel> LoadModel(const std::string& path, const LoadOptions& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  return CatchExceptions([&]() -> absl::StatusOr<LoadedModel> {
    const c10::InferenceMode guard;
    return Load(path);
  });
}

}  // namespace heed
