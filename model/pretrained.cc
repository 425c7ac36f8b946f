#include "model/pretrained.h"

#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/api/error.h"
#include "model/tokenizer/hf_tokenizer.h"
#include "model/tokenizer/tokenizer_files.h"

namespace heed {
namespace {

// In Heed's own format the encodings pick their tensors by name: one that none of them picked would
// be left out of the computation.
absl::Status CheckAllRead(const ModelConfig& config, const WeightMap& map, const Weights& weights) {
  if (!config.names_are_roles) return absl::OkStatus();
  for (const auto& [role, view] : map.tensors) {
    if (absl::StrContains(role, "positional.") && !weights.WasRead(role)) {
      return MakeError(absl::StatusCode::kInvalidArgument, "UNEXPECTED_TENSOR",
                       absl::StrCat("tensor \"", role, "\" is not used by positional encoding \"",
                                    config.encodings[0].name, "\""),
                       {{"tensor", role}});
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Pretrained> OpenPretrained(const std::string& path,
                                          const PretrainedOptions& open_options) {
  const std::string config_path = (std::filesystem::path(path) / "config.json").string();
  auto config = ReadModelConfig(config_path, open_options.purpose);
  if (!config.ok()) return config.status();
  auto checkpoint = Checkpoint::Open(path, config->head_file);
  if (!checkpoint.ok()) return checkpoint.status();
  auto weights = ResolveWeights(*config, *checkpoint);
  if (!weights.ok()) return weights.status();
  const Weights tensors(*weights, open_options.bfloat16 ? at::kBFloat16 : at::kFloat);
  Pretrained pretrained;
  if (config->text_cnn.filter_count > 0) {
    if (open_options.purpose == ConfigPurpose::kEncoder) {
      return MakeError(absl::StatusCode::kUnimplemented, "NO_ENCODER",
                       absl::StrCat(config_path, ": a TextCNN has no encoder"));
    }
    pretrained.text_cnn.emplace(*config, tensors);
  } else {
    auto encoder = Encoder::Create(*config, tensors);
    if (!encoder.ok()) return encoder.status();
    pretrained.encoder = *std::move(encoder);
  }
  if (absl::Status status = CheckAllRead(*config, *weights, tensors); !status.ok()) return status;

  HfTokenizerOptions options;
  const auto max_length = ReadModelMaxLength(path);
  if (!max_length.ok()) return max_length.status();
  options.max_tokens =
      pretrained.encoder.has_value() ? pretrained.encoder->max_tokens() : config->max_tokens;
  if (*max_length > 0 && (options.max_tokens == 0 || *max_length < options.max_tokens)) {
    options.max_tokens = *max_length;
  }
  // A model that tells segments apart needs two of them; one that does not takes any pair.
  options.accepts_pairs = !config->reads_segments || config->segment_count != 1;
  options.vocab_size = config->vocab_size;
  options.segment_count = config->reads_segments ? config->segment_count : 0;
  auto tokenizer = LoadHfTokenizer(path, options);
  if (!tokenizer.ok()) return tokenizer.status();
  pretrained.config = *std::move(config);
  pretrained.checkpoint = *std::move(checkpoint);
  pretrained.weights = *std::move(weights);
  pretrained.tokenizer = *std::move(tokenizer);
  pretrained.accepts_pairs = options.accepts_pairs;
  pretrained.weights_bytes = tensors.bytes_by_part();
  pretrained.max_tokens = options.max_tokens;
  return pretrained;
}

}  // namespace heed
