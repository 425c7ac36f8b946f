// ALBERT (Lan et al., 2020, arXiv:1909.11942): narrow embeddings and layers that share their
// weights. Step i of num_hidden_layers runs group i / (layers / groups), that is inner_group_num
// layers one after another; each of these counts as a layer here.

#include "absl/strings/str_cat.h"
#include "model/checkpoint/architectures/bert_family.h"

namespace heed {
namespace {

void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  ReadBertSizes(fields, config);
  config.activation = ReadActivation(fields, "hidden_act", "gelu_new");
  config.embedding_size = fields.Int("embedding_size", 1, kMaxSize, 128);
  const int64_t groups = fields.Int("num_hidden_groups", 1, kMaxLayers, 1);
  const int64_t inner = fields.Int("inner_group_num", 1, kMaxLayers, 1);
  config.layout.layers_per_group = inner;
  const int64_t steps = config.layer_count;
  if (groups > steps) fields.Bad("num_hidden_groups", "is more than num_hidden_layers");
  for (int64_t step = 0; step < steps; ++step) {
    // As transformers: the quotient is a float, cut off.
    const auto group = static_cast<int64_t>(
        static_cast<double>(step) / (static_cast<double>(steps) / static_cast<double>(groups)));
    for (int64_t i = 0; i < inner; ++i) config.layer_sources.push_back(group * inner + i);
  }
  config.layer_count = static_cast<int64_t>(config.layer_sources.size());
  if (config.layer_count > kMaxLayers) fields.Bad("inner_group_num", "makes too many layers");
  fields.Ignore({"net_structure_type", "gap_size", "num_memory_blocks", "down_scale_factor"});
  RefuseVariants(fields);
  ReadPositionType(fields, config);
  ReadHead(fields, purpose,
           {{"AlbertForSequenceClassification",
             SequenceHead(Pooling::kFirst, "pooler", "tanh", "classifier")},
            {"AlbertForTokenClassification", TokenHead()}},
           config);
}

std::vector<WeightSpec> Weights(const ModelConfig& config) {
  std::vector<WeightSpec> specs;
  AddBertEmbeddings(specs, config);
  AddLinear(specs, "embeddings.projection", "encoder.embedding_hidden_mapping_in",
            config.hidden_size, config.embedding_size);
  const int64_t width = config.hidden_size;
  const int64_t inner = config.layout.layers_per_group;
  for (int64_t source = 0; source < config.source_count(); ++source) {
    const std::string role = absl::StrCat("layers.", source, ".");
    const std::string name = absl::StrCat("encoder.albert_layer_groups.", source / inner,
                                          ".albert_layers.", source % inner, ".");
    for (const char* const part : {"query", "key", "value"}) {
      AddLinear(specs, absl::StrCat(role, "attention.", part),
                absl::StrCat(name, "attention.", part), width, width);
    }
    AddLinear(specs, role + "attention.output", name + "attention.dense", width, width);
    AddNorm(specs, role + "attention.norm", name + "attention.LayerNorm", width);
    AddLinear(specs, role + "intermediate", name + "ffn", config.intermediate_size, width);
    AddLinear(specs, role + "output", name + "ffn_output", width, config.intermediate_size);
    AddNorm(specs, role + "norm", name + "full_layer_layer_norm", width);
    AddDistanceTables(specs, config, role, name + "attention.");
  }
  AddHead(specs, config);
  return specs;
}

}  // namespace

Architecture Make_albert() { return {ReadConfig, Weights, "albert.", BertBuffers()}; }

}  // namespace heed
