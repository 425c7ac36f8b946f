#include "model/pretrained.h"

#include <filesystem>
#include <utility>

#include "model/tokenizer/hf_tokenizer.h"
#include "model/tokenizer/tokenizer_files.h"

namespace heed {

absl::StatusOr<Pretrained> OpenPretrained(const std::string& path, ConfigPurpose purpose) {
  const std::string config_path = (std::filesystem::path(path) / "config.json").string();
  auto config = ReadModelConfig(config_path, purpose);
  if (!config.ok()) return config.status();
  auto checkpoint = Checkpoint::Open(path, config->head_file);
  if (!checkpoint.ok()) return checkpoint.status();
  auto weights = ResolveWeights(*config, *checkpoint);
  if (!weights.ok()) return weights.status();
  auto encoder = Encoder::Create(*config, Weights(*weights));
  if (!encoder.ok()) return encoder.status();

  HfTokenizerOptions options;
  const auto max_length = ReadModelMaxLength(path);
  if (!max_length.ok()) return max_length.status();
  options.max_tokens = encoder->max_tokens();
  if (*max_length > 0 && (options.max_tokens == 0 || *max_length < options.max_tokens)) {
    options.max_tokens = *max_length;
  }
  options.accepts_pairs = config->segment_count >= 2;
  options.vocab_size = config->vocab_size;
  options.segment_count = config->segment_count;
  auto tokenizer = LoadHfTokenizer(path, options);
  if (!tokenizer.ok()) return tokenizer.status();
  return Pretrained{*std::move(config),  *std::move(checkpoint), *std::move(weights),
                    *std::move(encoder), *std::move(tokenizer),  options.max_tokens};
}

}  // namespace heed
