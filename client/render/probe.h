// What `heed probe` shows: tables of how a prediction depends on order, positions and tokens.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/render/attention_json.h"
#include "client/render/terminal.h"
#include "heed/v1/probe.pb.h"

namespace heed::cli {

// How the random orders were labelled, and how often as the text itself.
std::string RenderPermutation(const v1::ProbePermutationResponse& response, const Style& style);

// A line a fraction.
std::string RenderMasking(const v1::ProbeMaskingResponse& response, const Style& style);

// A line a way to run; the first is what the others are compared with.
std::string RenderOverride(const std::vector<OverrideRun>& runs, const Style& style);

// A line a layer, the mean over its heads, and the share of positions by layer and head.
std::string RenderLayerProfile(const v1::GetLayerProfileResponse& response, const Style& style);

// The share that positions explain, [layers, heads]. INTERNAL where layers have not as many heads.
absl::StatusOr<std::vector<float>> PositionShares(const v1::GetLayerProfileResponse& response);

// Similarities as numbers, whichever heads there are.
struct SimilarityMatrices {
  size_t matrix_count = 0;  // 1, or the number of heads
  size_t position_count = 0;
  std::vector<float> values;  // [matrices, positions, positions]
};
// INTERNAL where the tensor is no such thing.
absl::StatusOr<SimilarityMatrices> ReadSimilarity(
    const v1::GetPositionSimilarityResponse& response);

// The value of the brightest shade for matrices of `count` columns. A position of a learned
// encoding is so much more like itself than like others that on its own scale the rest would be one
// shade.
float BrightestSimilarity(const std::vector<float>& values, size_t count);

// The first matrix as a heatmap, and of every matrix the mean by distance.
std::string RenderSimilarity(const std::string& encoding, const SimilarityMatrices& similarity,
                             const Style& style);

}  // namespace heed::cli
