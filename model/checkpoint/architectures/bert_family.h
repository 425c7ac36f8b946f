// What the architectures of the BERT family share: sizes, refused variants, heads and the naming of
// weights. Each architecture keeps only what is its own.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/checkpoint/architectures/architecture.h"

namespace heed {

// Bounds that no real model reaches; beyond them sizes would overflow or a table would not fit.
inline constexpr int64_t kMaxSize = 1 << 20;
inline constexpr int64_t kMaxVocabulary = 1 << 26;
inline constexpr int64_t kMaxLayers = 1024;

// hidden_size, num_hidden_layers, num_attention_heads, intermediate_size, vocab_size,
// max_position_embeddings.
void ReadSizes(ConfigFields& fields, ModelConfig& config);
// The above, type_vocab_size, layer_norm_eps, hidden_act and pad_token_id, for a post-norm encoder.
void ReadBertSizes(ConfigFields& fields, ModelConfig& config, double default_eps = 1e-12);
// `name` holds an activation that Heed has.
std::string ReadActivation(ConfigFields& fields, absl::string_view name,
                           absl::string_view fallback);
bool IsActivation(absl::string_view name);
// head_count divides hidden_size.
void CheckHeads(ConfigFields& fields, absl::string_view field, const ModelConfig& config);

// Fields whose other values ask for a computation that is not here: decoders, pruned heads,
// quantised weights, code of the model's own.
// With `decoder_aside`, an encoder-decoder passes: its encoder is what runs.
void RefuseVariants(ConfigFields& fields, bool decoder_aside = false);

// position_embedding_type: absolute (a learned table that begins at row `offset`), or one of BERT's
// two relative forms.
void ReadPositionType(ConfigFields& fields, ModelConfig& config, int64_t offset = 0);
// RoBERTa's rule: positions begin after the pad token's row and skip pads.
void SkipPads(ModelConfig& config, int64_t pad_token_id);
// position_overflow of a learned table: "error" (default), or "interpolate".
void ReadOverflow(ConfigFields& fields, EncodingConfig& encoding);

// A class of transformers (or Heed's own) and the head it has.
struct HeadClass {
  std::string name;
  HeadConfig head;
};
HeadConfig SequenceHead(Pooling pooling, std::string dense, std::string activation,
                        std::string classifier);
HeadConfig TokenHead(std::string classifier = "classifier");
// The head that `architectures` names, or the first of `classes` where it names none, and the
// classifier's fields; for the encoder alone, leaves both aside.
void ReadHead(ConfigFields& fields, ConfigPurpose purpose, const std::vector<HeadClass>& classes,
              ModelConfig& config);

void AddLinear(std::vector<WeightSpec>& specs, const std::string& role, const std::string& name,
               int64_t out, int64_t in, bool bias = true);
// LayerNorm parameters were called gamma and beta in the first checkpoints.
void AddNorm(std::vector<WeightSpec>& specs, const std::string& role, const std::string& name,
             int64_t width, bool bias = true);
// Word, segment and position tables and the norm, where the configuration has them.
void AddBertEmbeddings(std::vector<WeightSpec>& specs, const ModelConfig& config);
// The tables of BERT's relative position types.
void AddDistanceTables(std::vector<WeightSpec>& specs, const ModelConfig& config,
                       const std::string& layer, const std::string& name);
// The head's dense, norm and classifier.
void AddHead(std::vector<WeightSpec>& specs, const ModelConfig& config);

// Where a layer's parts stand below its own name.
struct LayerNames {
  std::string layer = "encoder.layer.";
  std::string query = "attention.self.query";
  std::string key = "attention.self.key";
  std::string value = "attention.self.value";
  std::string attention_output = "attention.output.dense";
  std::string attention_norm = "attention.output.LayerNorm";
  std::string intermediate = "intermediate.dense";
  std::string output = "output.dense";
  std::string norm = "output.LayerNorm";
};
// Every layer of a post-norm encoder with those names.
void AddLayers(std::vector<WeightSpec>& specs, const ModelConfig& config, const LayerNames& names,
               bool query_key_value_bias = true);

// BERT as a whole: embeddings, layers, head.
std::vector<WeightSpec> BertWeights(const ModelConfig& config);
// Buffers that BERT's relatives save.
std::vector<std::string> BertBuffers();

}  // namespace heed
