// Attention and probes as JSON Lines; the rules of render/json.h hold here too.
#pragma once

#include <string>
#include <vector>

#include "client/attention_data.h"
#include "heed/v1/common.pb.h"
#include "heed/v1/probe.pb.h"

namespace heed::cli {

// {"text", "text_pair"?, "labels", "usage", "model", "model_version", "reduction", "tokens",
// "layers", "heads", "query_rows", "key_columns", "shape", "weights", "columns"?}: weights are
// lists in lists as the shape says; columns (with top_k) too.
std::string AttentionJson(const v1::TextInput& input, const AttentionData& data);

// {"probe": "permute", "original", "label_agreement", "equivariance_error", "permuted", "model",
// "model_version"}; a classification is {"labels", "usage"}.
std::string PermutationJson(const v1::ProbePermutationResponse& response);
// {"probe": "mask", "original", "results": [{"fraction", "label_agreement",
// "mean_score_of_original_label"}], …}.
std::string MaskingJson(const v1::ProbeMaskingResponse& response);
// {"probe": "layers", "layers": [{"layer", "position_share", "content_share"}], …}.
std::string LayerProfileJson(const v1::GetLayerProfileResponse& response);
// {"probe": "similarity", "encoding", "shape", "similarity", …}; `values` are those of the tensor.
std::string SimilarityJson(const v1::GetPositionSimilarityResponse& response,
                           const std::vector<float>& values);

// One way to run a text in `heed probe override`.
struct OverrideRun {
  std::string name;
  v1::Classification result;
};
// {"probe": "override", "runs": [{"positions", "labels", "usage"}], "model", "model_version"}.
std::string OverrideJson(const std::vector<OverrideRun>& runs, const std::string& model,
                         const std::string& model_version);

}  // namespace heed::cli
