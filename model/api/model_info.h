// What a loaded model is, in words and numbers: reported by ModelService and used to check
// requests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

// What turns logits into scores.
enum class ScoreFunction {
  kSoftmax,   // one label of many
  kSigmoid,   // every label by itself
  kIdentity,  // regression
};

struct ModelInfo {
  // Hash of everything that decides the numbers: configuration, tokenizer and weights.
  std::string version;
  std::string architecture;         // config.json's model_type
  std::string positional_encoding;  // as registered
  std::string attention_pattern;    // "dense"
  int64_t layer_count = 0;
  int64_t head_count = 0;
  int64_t hidden_size = 0;
  int64_t vocab_size = 0;
  // Longest input in tokens, special tokens included; 0: no limit.
  int64_t max_tokens = 0;
  // Positions must be below; 0: any can be encoded.
  int64_t position_limit = 0;
  // Whether the model has attention to show.
  bool has_attention = true;
  // The token whose attention says what the classifier looks at: 0, or -1 for models that read
  // the last one (XLNet).
  int64_t summary_token = 0;
  // In label-id order.
  std::vector<std::string> labels;
  // "single_label_classification", "multi_label_classification", "regression" or
  // "token_classification".
  std::string task;
  ScoreFunction score_function = ScoreFunction::kSoftmax;
  bool accepts_pairs = false;
  std::string precision = "fp32";
  std::string device = "cpu";
  int64_t parameter_count = 0;
  int64_t weights_bytes = 0;
  int64_t packed_bytes = 0;

  // Whether the model labels each token rather than the text.
  bool labels_tokens() const { return task == "token_classification"; }
};

}  // namespace heed
