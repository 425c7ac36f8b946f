#include "model/checkpoint/config_fields.h"

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/api/error.h"

namespace heed {
namespace {

using nlohmann::json;

constexpr size_t kShownBytes = 80;

// Fields of Hugging Face configurations, 4.x and 5.x, that say nothing about what an encoder
// computes at inference: names and provenance, output switches, training, text generation, storage.
const std::set<std::string, std::less<>>& HarmlessFields() {
  static const auto* const fields = new std::set<std::string, std::less<>>{
      // Names and provenance.
      "architectures",
      "model_type",
      "name_or_path",
      "transformers_version",
      "tokenizer_class",
      "license",
      "language",
      "languages",
      "dataset",
      "datasets",
      "base_model",
      "finetuning_task",
      "task_specific_params",
      "custom_pipelines",
      "sentence_transformers",
      "label2id",
      "prefix",
      "commit_message",
      "revision",
      "model_max_length",
      "task",
      "name",
      "id",
      "author",
      "tags",
      // Outputs and execution. (The pipeline of transformers never reaches function_to_apply.)
      "function_to_apply",
      "output_attentions",
      "output_hidden_states",
      "output_past",
      "return_dict",
      "torchscript",
      "use_cache",
      "attn_implementation",
      "experts_implementation",
      "chunk_size_feed_forward",
      "xla_device",
      "tf_legacy_loss",
      "use_bfloat16",
      // How weights are stored; they are computed in the precision that was asked for.
      "torch_dtype",
      "dtype",
      "tie_word_embeddings",
      "tie_encoder_decoder",
      "onnx_export",
      // Training.
      "attention_probs_dropout_prob",
      "attention_dropout",
      "activation_dropout",
      "embedding_dropout",
      "mlp_dropout",
      "dropout",
      "dropout_rate",
      "pooler_dropout",
      "cls_dropout",
      "classifier_dropout_prob",
      "summary_last_dropout",
      "seq_classif_dropout",
      "qa_dropout",
      "hidden_dropout",
      "initializer_cutoff_factor",
      "pretraining_tp",
      "sparse_prediction",
      "sparse_pred_ignore_index",
      "decoder_bias",
      "deterministic_flash_attn",
      "reference_compile",
      "repad_logits_with_grad",
      "use_mems_eval",
      "use_mems_train",
      "hidden_dropout_prob",
      "classifier_dropout",
      "summary_first_dropout",
      "initializer_range",
      "initializer_factor",
      "gradient_checkpointing",
      "best_model",
      "num_train_epochs",
      "learning_rate",
      "train_batch_size",
      "seed",
      // Sizes of a pooler that no released BERT has; written by its first TensorFlow checkpoints.
      "directionality",
      "pooler_fc_size",
      "pooler_num_attention_heads",
      "pooler_num_fc_layers",
      "pooler_size_per_head",
      "pooler_type",
      // Tokens: the tokenizer has its own.
      "pad_token_id",
      "bos_token_id",
      "eos_token_id",
      "sep_token_id",
      "cls_token_id",
      "mask_token_id",
      "unk_token_id",
      "decoder_start_token_id",
      "forced_bos_token_id",
      "forced_eos_token_id",
      // Text generation.
      "max_length",
      "min_length",
      "do_sample",
      "early_stopping",
      "num_beams",
      "num_beam_groups",
      "diversity_penalty",
      "temperature",
      "top_k",
      "top_p",
      "typical_p",
      "repetition_penalty",
      "length_penalty",
      "no_repeat_ngram_size",
      "encoder_no_repeat_ngram_size",
      "bad_words_ids",
      "num_return_sequences",
      "output_scores",
      "return_dict_in_generate",
      "suppress_tokens",
      "begin_suppress_tokens",
      "exponential_decay_length_penalty",
      "remove_invalid_values",
      "cross_attention_hidden_size",

  };
  return *fields;
}

}  // namespace

bool ConfigFields::Has(absl::string_view name) { return !Raw(name).is_null(); }

const json& ConfigFields::Raw(absl::string_view name) {
  static const json* const null = new json();
  read_.emplace(name);
  const auto found = object_.find(std::string(name));
  return found == object_.end() ? *null : *found;
}

int64_t ConfigFields::Int(absl::string_view name, int64_t low, int64_t high) {
  const json& value = Raw(name);
  if (value.is_null()) {
    Bad(name, "is missing");
    return low;
  }
  if (!value.is_number_integer() || value.get<int64_t>() < low || value.get<int64_t>() > high ||
      (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(high))) {
    Bad(name, absl::StrCat("is not an integer in [", low, ", ", high, "]"));
    return low;
  }
  return value.get<int64_t>();
}

int64_t ConfigFields::Int(absl::string_view name, int64_t low, int64_t high, int64_t fallback) {
  return Has(name) ? Int(name, low, high) : fallback;
}

std::vector<int64_t> ConfigFields::Ints(absl::string_view name, int64_t low, int64_t high) {
  const json& list = Raw(name);
  std::vector<int64_t> values;
  if (list.is_null()) return values;
  for (const json& value : list) {
    if (!list.is_array() || !value.is_number_integer() || value.get<int64_t>() < low ||
        value.get<int64_t>() > high) {
      Bad(name, absl::StrCat("is not a list of integers in [", low, ", ", high, "]"));
      return {};
    }
    values.push_back(value.get<int64_t>());
  }
  return values;
}

void ConfigFields::Ignore(std::initializer_list<absl::string_view> names) {
  for (const absl::string_view name : names) read_.emplace(name);
}

std::vector<std::string> ConfigFields::Unread() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : object_.items()) {
    if (!read_.contains(name) && !value.is_null() && value != false) names.push_back(name);
  }
  return names;
}

double ConfigFields::Number(absl::string_view name, double low, double fallback) {
  const json& value = Raw(name);
  if (value.is_null()) return fallback;
  if (!value.is_number() || !(value.get<double>() >= low) || std::isinf(value.get<double>())) {
    Bad(name, absl::StrCat("is not a finite number of at least ", low));
    return fallback;
  }
  return value.get<double>();
}

std::string ConfigFields::String(absl::string_view name, absl::string_view fallback) {
  const json& value = Raw(name);
  if (value.is_null()) return std::string(fallback);
  if (!value.is_string()) {
    Bad(name, "is not a string");
    return std::string(fallback);
  }
  return value.get<std::string>();
}

bool ConfigFields::Bool(absl::string_view name, bool fallback) {
  const json& value = Raw(name);
  if (value.is_null()) return fallback;
  if (!value.is_boolean()) {
    Bad(name, "is neither true nor false");
    return fallback;
  }
  return value.get<bool>();
}

void ConfigFields::Unsupported(absl::string_view name, absl::string_view why) {
  Fail(MakeError(absl::StatusCode::kUnimplemented, "UNSUPPORTED_CONFIG",
                 absl::StrCat("field \"", name, "\" (", Shown(name), "): ", why),
                 {{"field", std::string(name)}, {"value", Shown(name)}}));
}

void ConfigFields::Bad(absl::string_view name, absl::string_view why) {
  Fail(MakeError(absl::StatusCode::kInvalidArgument, "BAD_CONFIG_FIELD",
                 absl::StrCat("field \"", name, "\" (", Shown(name), ") ", why),
                 {{"field", std::string(name)}, {"value", Shown(name)}}));
}

void ConfigFields::RefuseUnread() {
  for (const auto& [name, value] : object_.items()) {
    if (read_.contains(name) || HarmlessFields().contains(name)) continue;
    if (absl::StartsWith(name, "_")) continue;  // by convention: not part of the model
    if (value.is_null()) continue;              // unset
    Fail(MakeError(absl::StatusCode::kUnimplemented, "UNKNOWN_CONFIG_FIELD",
                   absl::StrCat("field \"", name, "\" (", Shown(name),
                                ") is not known; it may change what the model computes, so the "
                                "model is not loaded"),
                   {{"field", name}, {"value", Shown(name)}}));
  }
}

void ConfigFields::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}

std::string ConfigFields::Shown(absl::string_view name) const {
  const auto found = object_.find(std::string(name));
  if (found == object_.end()) return "absent";
  std::string text = found->dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kShownBytes) text = text.substr(0, kShownBytes) + "…";
  return text;
}

}  // namespace heed
