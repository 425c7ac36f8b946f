#include "model/checkpoint/classifier_config.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace heed {
namespace {

using nlohmann::json;

constexpr int64_t kMaxLabels = 1'000'000;
constexpr int64_t kDefaultLabels = 2;  // of transformers, when a config says nothing

std::vector<std::string> LabelsFromMap(ConfigFields& fields, const json& map) {
  if (!map.is_object() || map.empty()) {
    fields.Bad("id2label", "is not a non-empty object");
    return {};
  }
  std::vector<std::string> labels(map.size());
  std::vector<bool> seen(map.size());
  for (const auto& [key, label] : map.items()) {
    int64_t id = 0;
    // "01" would be another spelling of an id that may be there already.
    if (!absl::SimpleAtoi(key, &id) || absl::StrCat(id) != key || id < 0 ||
        id >= static_cast<int64_t>(labels.size()) || seen[id]) {
      fields.Bad("id2label", absl::StrCat("has the id \"", key, "\"; its ids must be 0 to ",
                                          labels.size() - 1));
      return {};
    }
    if (!label.is_string()) {
      fields.Bad("id2label", absl::StrCat("has a label for id ", id, " that is not a string"));
      return {};
    }
    labels[id] = label.get<std::string>();
    seen[id] = true;
  }
  return labels;
}

void ReadLabels(ConfigFields& fields, ModelConfig& config) {
  const bool has_count = fields.Has("num_labels");
  const int64_t count = has_count ? fields.Int("num_labels", 1, kMaxLabels) : kDefaultLabels;
  if (fields.Has("id2label")) {
    config.labels = LabelsFromMap(fields, fields.Raw("id2label"));
    if (has_count && fields.status().ok() && count != static_cast<int64_t>(config.labels.size())) {
      fields.Bad("num_labels",
                 absl::StrCat("contradicts id2label, which has ", config.labels.size(), " labels"));
    }
    return;
  }
  for (int64_t id = 0; id < count; ++id) config.labels.push_back(absl::StrCat("LABEL_", id));
}

}  // namespace

void ReadClassifierFields(ConfigFields& fields, ModelConfig& config) {
  ReadLabels(fields, config);
  if (config.head.pooling == Pooling::kTokens) {
    // The token-classification pipeline takes a softmax whatever problem_type says.
    fields.Ignore({"problem_type"});
    config.task = "token_classification";
    config.score_function = ScoreFunction::kSoftmax;
    return;
  }
  const bool one_label = config.labels.size() == 1;
  config.task = fields.String("problem_type", "");
  if (config.task.empty()) {
    // Unset: the pipeline scores one label by itself and several against each other.
    config.task = one_label ? "multi_label_classification" : "single_label_classification";
  }
  if (config.task == "single_label_classification") {
    config.score_function = one_label ? ScoreFunction::kSigmoid : ScoreFunction::kSoftmax;
  } else if (config.task == "multi_label_classification") {
    config.score_function = ScoreFunction::kSigmoid;
  } else if (config.task == "regression") {
    config.score_function = ScoreFunction::kIdentity;
  } else {
    fields.Bad("problem_type",
               "is not single_label_classification, multi_label_classification or regression");
  }
}

}  // namespace heed
