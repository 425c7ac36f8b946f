// The part of a config.json that every classifier of the Hugging Face family shares: labels, task
// and what turns logits into scores.
#pragma once

#include "model/checkpoint/config_fields.h"
#include "model/checkpoint/model_config.h"

namespace heed {

// Reads id2label (ordered by the number of the id), num_labels and problem_type into `config`. The
// score function follows the text-classification pipeline of transformers 5: identity for
// regression, sigmoid for multi-label and for a single label, softmax otherwise. Reads config.head.
void ReadClassifierFields(ConfigFields& fields, ModelConfig& config);

}  // namespace heed
