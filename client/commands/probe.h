// `heed probe`: how much a prediction depends on word order, positions and single tokens.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/client.h"
#include "client/commands/io.h"
#include "heed/v1/probe.pb.h"

namespace heed::cli {

// How and where every probe shows what it found.
struct ProbeOutput {
  bool json = false;
  std::string png;  // layers and similarity
  Style style;
  absl::Duration timeout;  // for messages
};

// A text as it is and with other positions; each is named as the user wrote it.
struct OverrideProbe {
  v1::ClassifyRequest request;  // one input
  std::vector<std::pair<std::string, v1::PositionOverride>> positions;
};

// Each returns the exit code.
int RunProbePermute(const v1::ProbePermutationRequest& request, const ProbeOutput& output,
                    const Client& client, Io& io);
int RunProbeMask(const v1::ProbeMaskingRequest& request, const ProbeOutput& output,
                 const Client& client, Io& io);
int RunProbeOverride(const OverrideProbe& probe, const ProbeOutput& output, const Client& client,
                     Io& io);
int RunProbeLayers(const v1::GetLayerProfileRequest& request, const ProbeOutput& output,
                   const Client& client, Io& io);
int RunProbeSimilarity(const v1::GetPositionSimilarityRequest& request, const ProbeOutput& output,
                       const Client& client, Io& io);

}  // namespace heed::cli
