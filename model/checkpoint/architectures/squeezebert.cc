// SqueezeBERT (Iandola et al., 2020, arXiv:2006.11316): BERT whose linear layers are grouped
// convolutions of width 1; here each is the block-diagonal matrix that it stands for.

#include <array>

#include "absl/strings/str_cat.h"
#include "model/checkpoint/architectures/bert_family.h"

namespace heed {
namespace {

constexpr std::array<const char*, 6> kGroupFields = {
    "q_groups",     "k_groups", "v_groups", "post_attention_groups", "intermediate_groups",
    "output_groups"};

void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  ReadBertSizes(fields, config);
  if (fields.Int("embedding_size", 1, kMaxSize, config.hidden_size) != config.hidden_size) {
    fields.Unsupported("embedding_size", "must be hidden_size");
  }
  constexpr std::array<int64_t, 6> kDefaults = {4, 4, 4, 1, 4, 4};
  for (size_t i = 0; i < kGroupFields.size(); ++i) {
    const int64_t groups = fields.Int(kGroupFields[i], 1, kMaxSize, kDefaults[i]);
    if (config.hidden_size % groups != 0 || (i >= 4 && config.intermediate_size % groups != 0)) {
      fields.Bad(kGroupFields[i], "does not divide the sizes of its layer");
    }
    config.layout.projection_groups[i] = groups;
  }
  RefuseVariants(fields);
  ReadPositionType(fields, config);
  ReadHead(fields, purpose,
           {{"SqueezeBertForSequenceClassification",
             SequenceHead(Pooling::kFirst, "pooler.dense", "tanh", "classifier")},
            {"SqueezeBertForTokenClassification", TokenHead()}},
           config);
}

void AddGrouped(std::vector<WeightSpec>& specs, const std::string& role, const std::string& name,
                int64_t out, int64_t in, int64_t groups) {
  specs.push_back(
      {role + ".weight", {name + ".weight"}, {out, in / groups, 1}, WeightForm::kGrouped, groups});
  specs.push_back({role + ".bias", {name + ".bias"}, {out}});
}

std::vector<WeightSpec> Weights(const ModelConfig& config) {
  const int64_t width = config.hidden_size;
  const int64_t* const groups = config.layout.projection_groups;
  std::vector<WeightSpec> specs;
  AddBertEmbeddings(specs, config);
  for (int64_t i = 0; i < config.layer_count; ++i) {
    const std::string role = absl::StrCat("layers.", i, ".");
    const std::string name = absl::StrCat("encoder.layers.", i, ".");
    const std::string attention = name + "attention.";
    AddGrouped(specs, role + "attention.query", attention + "query", width, width, groups[0]);
    AddGrouped(specs, role + "attention.key", attention + "key", width, width, groups[1]);
    AddGrouped(specs, role + "attention.value", attention + "value", width, width, groups[2]);
    AddGrouped(specs, role + "attention.output", name + "post_attention.conv1d", width, width,
               groups[3]);
    AddNorm(specs, role + "attention.norm", name + "post_attention.layernorm", width);
    AddGrouped(specs, role + "intermediate", name + "intermediate.conv1d", config.intermediate_size,
               width, groups[4]);
    AddGrouped(specs, role + "output", name + "output.conv1d", width, config.intermediate_size,
               groups[5]);
    AddNorm(specs, role + "norm", name + "output.layernorm", width);
  }
  AddHead(specs, config);
  return specs;
}

}  // namespace

Architecture Make_squeezebert() { return {ReadConfig, Weights, "transformer.", BertBuffers()}; }

}  // namespace heed
