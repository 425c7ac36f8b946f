// DeBERTa (He et al., 2021, arXiv:2006.03654) and its second and third versions (arXiv:2111.09543):
// disentangled attention, with absolute positions only where position_biased_input says so.

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "model/checkpoint/architectures/bert_family.h"

namespace heed {
namespace {

using nlohmann::json;

struct AttentionTerms {
  bool content_to_position = false;
  bool position_to_content = false;

  int count() const { return int{content_to_position} + int{position_to_content}; }
};

// pos_att_type: a list of names, or one string with bars between them.
AttentionTerms ReadTerms(ConfigFields& fields) {
  const json& field = fields.Raw("pos_att_type");
  std::vector<std::string> names;
  if (field.is_string()) {
    names = absl::StrSplit(field.get<std::string>(), '|', absl::SkipWhitespace());
  }
  if (field.is_array()) {
    for (const json& name : field) names.push_back(name.is_string() ? name.get<std::string>() : "");
  }
  AttentionTerms terms;
  for (const std::string& name : names) {
    const std::string term = absl::AsciiStrToLower(absl::StripAsciiWhitespace(name));
    if (term == "c2p") {
      terms.content_to_position = true;
    } else if (term == "p2c") {
      terms.position_to_content = true;
    } else {
      fields.Unsupported("pos_att_type", "its terms are c2p and p2c");
    }
  }
  return terms;
}

void ReadRelativePositions(ConfigFields& fields, bool second, ModelConfig& config) {
  const bool relative = fields.Bool("relative_attention", false);
  const AttentionTerms terms = ReadTerms(fields);
  int64_t distance = fields.Int("max_relative_positions", -1, kMaxVocabulary, -1);
  if (distance < 1) distance = config.position_count;
  int64_t buckets = 0;
  if (second)
    buckets = std::max<int64_t>(fields.Int("position_buckets", -1, kMaxVocabulary, -1), 0);
  // The terms count in the scale even where there is no relative attention to add them.
  config.attention_scale =
      1 / std::sqrt(static_cast<double>(config.head_width() * (1 + terms.count())));
  config.layout.relative_span = relative ? (buckets > 0 ? buckets : distance) : 0;
  config.layout.content_to_position = terms.content_to_position;
  config.layout.position_to_content = terms.position_to_content;
  if (!relative || terms.count() == 0) return;
  EncodingConfig encoding{"disentangled", {}, {}};
  encoding.options["max_distance"] = absl::StrCat(distance);
  if (buckets > 0) encoding.options["buckets"] = absl::StrCat(buckets);
  if (terms.count() == 1) encoding.options["terms"] = terms.content_to_position ? "c2p" : "p2c";
  if (config.layout.relative_norm) encoding.options["norm_eps"] = absl::StrCat(config.norm_eps);
  config.encodings.push_back(std::move(encoding));
}

void ReadCommon(ConfigFields& fields, ConfigPurpose purpose, bool second, const char* name,
                ModelConfig& config) {
  ReadBertSizes(fields, config, 1e-7);
  config.segment_count = fields.Int("type_vocab_size", 0, kMaxSize, 0);
  config.hidden_tokens_are_zero = true;
  if (fields.Int("embedding_size", 1, kMaxSize, config.hidden_size) != config.hidden_size) {
    fields.Unsupported("embedding_size", "must be hidden_size");
  }
  if (fields.Bool("talking_head", false)) {
    fields.Unsupported("talking_head", "talking-head attention is not computed");
  }
  fields.Ignore({"legacy", "padding_idx"});
  if (fields.Bool("position_biased_input", true)) {
    EncodingConfig encoding{"learned", {}, {}};
    ReadOverflow(fields, encoding);
    config.encodings.push_back(std::move(encoding));
  } else {
    config.max_tokens = config.position_count;
  }
  RefuseVariants(fields);
  ReadRelativePositions(fields, second, config);
  if (fields.Int("pooler_hidden_size", 1, kMaxSize, config.hidden_size) != config.hidden_size) {
    fields.Unsupported("pooler_hidden_size", "must be hidden_size");
  }
  const std::string activation = ReadActivation(fields, "pooler_hidden_act", "gelu");
  ReadHead(fields, purpose,
           {{absl::StrCat(name, "ForSequenceClassification"),
             SequenceHead(Pooling::kFirst, "pooler.dense", activation, "classifier")},
            {absl::StrCat(name, "ForTokenClassification"), TokenHead()}},
           config);
}

void ReadFirst(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  ReadCommon(fields, purpose, false, "Deberta", config);
}

void ReadSecond(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  for (const absl::string_view part :
       absl::StrSplit(absl::AsciiStrToLower(fields.String("norm_rel_ebd", "none")), '|')) {
    const absl::string_view name = absl::StripAsciiWhitespace(part);
    if (name == "layer_norm") {
      config.layout.relative_norm = true;
    } else if (name != "none") {
      fields.Unsupported("norm_rel_ebd", "must be none or layer_norm");
    }
  }
  config.layout.shared_position_projections = fields.Bool("share_att_key", false);
  config.convolution.kernel_size = fields.Int("conv_kernel_size", 0, kMaxSize, 0);
  config.convolution.groups = fields.Int("conv_groups", 1, kMaxSize, 1);
  config.convolution.activation = ReadActivation(fields, "conv_act", "tanh");
  if (config.convolution.kernel_size % 2 == 0 && config.convolution.kernel_size != 0) {
    fields.Unsupported("conv_kernel_size", "must be odd");
  }
  if (fields.Int("attention_head_size", 1, kMaxSize, 0) != 0) {
    fields.Unsupported("attention_head_size", "must be hidden_size / num_attention_heads");
  }
  ReadCommon(fields, purpose, true, "DebertaV2", config);
  if (config.hidden_size % config.convolution.groups != 0) {
    fields.Bad("conv_groups", "does not divide hidden_size");
  }
}

void AddRelativeTables(std::vector<WeightSpec>& specs, const ModelConfig& config) {
  if (config.layout.relative_span == 0) return;
  specs.push_back({"positional.relative_table",
                   {"encoder.rel_embeddings.weight"},
                   {2 * config.layout.relative_span, config.hidden_size}});
  if (config.layout.relative_norm) {
    AddNorm(specs, "positional.relative_norm", "encoder.LayerNorm", config.hidden_size);
  }
}

std::vector<WeightSpec> FirstWeights(const ModelConfig& config) {
  const int64_t width = config.hidden_size;
  std::vector<WeightSpec> specs;
  AddBertEmbeddings(specs, config);
  LayerNames names;
  std::vector<WeightSpec> layers;
  AddLayers(layers, config, names);
  for (WeightSpec& spec : layers) {
    // The three projections are one matrix here.
    const bool separate = spec.role.find(".attention.query.") != std::string::npos ||
                          spec.role.find(".attention.key.") != std::string::npos ||
                          spec.role.find(".attention.value.") != std::string::npos;
    if (!separate) specs.push_back(std::move(spec));
  }
  for (int64_t i = 0; i < config.layer_count; ++i) {
    const std::string role = absl::StrCat("layers.", i, ".");
    const std::string name = absl::StrCat("encoder.layer.", i, ".attention.self.");
    specs.push_back({role + "attention.query_key_value.weight",
                     {name + "in_proj.weight"},
                     {3 * width, width},
                     WeightForm::kQkvPerHead,
                     config.head_count});
    specs.push_back({role + "attention.query.bias", {name + "q_bias"}, {width}});
    specs.push_back({role + "attention.value.bias", {name + "v_bias"}, {width}});
    if (config.layout.relative_span > 0 && config.layout.content_to_position) {
      AddLinear(specs, role + "positional.key", name + "pos_proj", width, width, false);
    }
    if (config.layout.relative_span > 0 && config.layout.position_to_content) {
      AddLinear(specs, role + "positional.query", name + "pos_q_proj", width, width);
    }
  }
  AddRelativeTables(specs, config);
  AddHead(specs, config);
  return specs;
}

std::vector<WeightSpec> SecondWeights(const ModelConfig& config) {
  const int64_t width = config.hidden_size;
  std::vector<WeightSpec> specs;
  AddBertEmbeddings(specs, config);
  LayerNames names;
  names.query = "attention.self.query_proj";
  names.key = "attention.self.key_proj";
  names.value = "attention.self.value_proj";
  AddLayers(specs, config, names);
  for (int64_t i = 0; i < config.layer_count && config.layout.relative_span > 0; ++i) {
    const std::string role = absl::StrCat("layers.", i, ".positional.");
    const std::string name = absl::StrCat("encoder.layer.", i, ".attention.self.");
    const bool shared = config.layout.shared_position_projections;
    if (config.layout.content_to_position) {
      AddLinear(specs, role + "key", name + (shared ? "key_proj" : "pos_key_proj"), width, width);
    }
    if (config.layout.position_to_content) {
      AddLinear(specs, role + "query", name + (shared ? "query_proj" : "pos_query_proj"), width,
                width);
    }
  }
  AddRelativeTables(specs, config);
  if (config.convolution.kernel_size > 0) {
    specs.push_back({"convolution.weight",
                     {"encoder.conv.conv.weight"},
                     {width, width / config.convolution.groups, config.convolution.kernel_size}});
    specs.push_back({"convolution.bias", {"encoder.conv.conv.bias"}, {width}});
    AddNorm(specs, "convolution.norm", "encoder.conv.LayerNorm", width);
  }
  AddHead(specs, config);
  return specs;
}

}  // namespace

Architecture Make_deberta() { return {ReadFirst, FirstWeights, "deberta.", BertBuffers()}; }
Architecture Make_deberta_v2() { return {ReadSecond, SecondWeights, "deberta.", BertBuffers()}; }

}  // namespace heed
