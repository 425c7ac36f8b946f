// config.json as numbers an engine can be built from, independent of the architecture's own words.
// A field that would change the numbers and that Heed does not compute is an error that names it:
// better no answer than a wrong one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/api/model_info.h"

namespace heed {

// How a text's token vectors become what the classifier reads.
enum class Pooling {
  kNone,    // no head
  kFirst,   // the first token
  kLast,    // the last token
  kMean,    // mean over the text's tokens
  kLate,    // the classifier runs on every token, and its logits are averaged
  kTokens,  // the classifier runs on every token: token classification
};

enum class NormKind {
  kLayerNorm,
  kRmsNorm,
};

// From which row of a position table a text begins.
enum class PositionRule {
  kSequential,  // 0, 1, 2, …
  kSkipPads,    // RoBERTa: pad tokens stand at -1 and do not count
};

struct EncodingConfig {
  std::string name;
  std::map<std::string, std::string> options;
  std::vector<int64_t> layers;  // where it acts; empty: everywhere
};

struct PatternConfig {
  std::string name = "dense";
  std::map<std::string, std::string> options;
};

// The classifier on top: pool, then (dense, activation, norm), then linear.
struct HeadConfig {
  Pooling pooling = Pooling::kNone;
  // Names of the parts in the checkpoint; empty: the model has no such part.
  std::string dense;
  std::string dense_activation;  // empty: none
  bool dense_bias = true;
  std::string norm;
  bool norm_bias = true;
  std::string classifier = "classifier";
};

// DeBERTa-v2's convolution beside the first layer; kernel_size 0: none.
struct ConvolutionConfig {
  int64_t kernel_size = 0;
  int64_t groups = 1;
  std::string activation;
};

// Kim's convolutional classifier; kernel sizes empty: not one.
struct TextCnnConfig {
  std::vector<int64_t> kernel_sizes;
  int64_t filter_count = 0;
};

// What only the names and shapes of the checkpoint's tensors depend on.
struct CheckpointLayout {
  bool norm_bias = true;
  bool attention_bias = true;
  bool feed_forward_bias = true;
  int64_t layers_per_group = 1;      // ALBERT: sets of weights a group
  int64_t bias_bucket_count = 0;     // T5, MPNet: rows of the relative bias
  bool bias_in_each_layer = false;   // UMT5
  int64_t relative_span = 0;         // DeBERTa: half the rows of the relative table; 0: none
  bool relative_norm = false;        // DeBERTa: the relative table is normalized
  bool content_to_position = false;  // DeBERTa: which terms there are
  bool position_to_content = false;
  bool shared_position_projections = false;  // DeBERTa-v2: those of the content
  int64_t projection_groups[6] = {};         // SqueezeBERT: groups of each convolution
};

struct ModelConfig {
  std::string architecture;  // model_type
  int64_t hidden_size = 0;
  int64_t embedding_size = 0;  // width of the embedding tables; 0: hidden_size
  int64_t layer_count = 0;
  int64_t head_count = 0;
  int64_t key_value_head_count = 0;  // 0: head_count
  int64_t head_size = 0;             // 0: hidden_size / head_count
  int64_t intermediate_size = 0;
  int64_t vocab_size = 0;
  int64_t segment_count = 0;   // rows of the segment (token type) table; 0: none
  bool reads_segments = true;  // false: every token is of segment 0, whatever the tokenizer says
  bool has_task_embedding = false;  // row 0 of a task table is added (ERNIE)
  int64_t position_count = 0;       // rows of a position table, or the length trained for; 0: none
  int64_t max_tokens = 0;           // longest text the model is made for; 0: as the encodings say
  PositionRule position_rule = PositionRule::kSequential;
  int64_t pad_token_id = -1;  // -1: none

  std::string activation;  // Hugging Face name, e.g. "gelu"
  bool gated = false;      // activation(gate) · up, instead of activation(up)
  NormKind norm = NormKind::kLayerNorm;
  double norm_eps = 0;
  bool pre_norm = false;  // x + f(norm(x)), instead of norm(x + f(x))
  bool embedding_norm = true;
  bool first_attention_norm = true;  // false: layer 0 attends to its input as it is (ModernBERT)
  bool final_norm = false;
  bool hidden_tokens_are_zero = false;  // embeddings of hidden tokens are zeroed (DeBERTa)
  double embedding_scale = 1;
  double attention_scale = 0;  // of q·k; 0: 1/sqrt(head_size)
  ConvolutionConfig convolution;
  TextCnnConfig text_cnn;

  // Which set of weights each layer runs with; empty: its own.
  std::vector<int64_t> layer_sources;
  std::vector<EncodingConfig> encodings;
  // Patterns, and which of them each layer has; layer_patterns empty: the first.
  std::vector<PatternConfig> patterns{1};
  std::vector<int64_t> layer_patterns;
  // Whether tensors named "positional.…" and "layers.N.positional.…" go to the encodings as they
  // are called (Heed's own format).
  bool names_are_roles = false;

  CheckpointLayout layout;
  HeadConfig head;
  std::string head_file;  // file of the head's tensors, beside config.json; empty: none of its own
  std::vector<std::string> labels;  // in label-id order
  std::string task;
  ScoreFunction score_function = ScoreFunction::kSoftmax;

  int64_t embedding_width() const { return embedding_size == 0 ? hidden_size : embedding_size; }
  int64_t head_width() const { return head_size == 0 ? hidden_size / head_count : head_size; }
  int64_t key_value_heads() const {
    return key_value_head_count == 0 ? head_count : key_value_head_count;
  }
  // Width of all heads' queries (and contexts) together.
  int64_t attention_width() const { return head_count * head_width(); }
  int64_t source_count() const {
    int64_t count = layer_sources.empty() ? layer_count : 0;
    for (const int64_t source : layer_sources) count = std::max(count, source + 1);
    return count;
  }
};

// What the folder is opened for.
enum class ConfigPurpose {
  kClassifier,  // the whole classifier; a model without a trained head is refused
  kEncoder,     // only the encoder: any head is left aside
};

// Reads `path` (a config.json). Errors name the field and its value: NOT_FOUND without a file;
// INVALID_ARGUMENT (MALFORMED_JSON, BAD_CONFIG_FIELD) for one that is missing, of the wrong type or
// out of range; UNIMPLEMENTED (UNSUPPORTED_CONFIG, UNKNOWN_CONFIG_FIELD) for what Heed cannot
// compute.
absl::StatusOr<ModelConfig> ReadModelConfig(const std::string& path, ConfigPurpose purpose);

// The same from the file's content.
absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view content, ConfigPurpose purpose);

}  // namespace heed
