#include "model/pretrained.h"

#include <filesystem>
#include <utility>

#include "model/tokenizer/hf_tokenizer.h"

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
  options.max_tokens = encoder->max_tokens();
  options.accepts_pairs = config->segment_count >= 2;
  options.vocab_size = config->vocab_size;
  options.segment_count = config->segment_count;
  auto tokenizer = LoadHfTokenizer(path, options);
  if (!tokenizer.ok()) return tokenizer.status();
  return Pretrained{*std::move(config), *std::move(checkpoint), *std::move(weights),
                    *std::move(encoder), *std::move(tokenizer)};
}

}  // namespace heed
