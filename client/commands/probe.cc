#include "client/commands/probe.h"

#include "absl/strings/str_cat.h"
#include "client/commands/exit_code.h"
#include "client/render/attention_json.h"
#include "client/render/probe.h"

namespace heed::cli {
namespace {

int Fail(const absl::Status& status, const ProbeOutput& output, const Client& client, Io& io) {
  PrintError(DescribeError(status, client.target(), output.timeout), io);
  return Finish(ExitCodeFor(status), io);
}

// Runs the text once; `positions` null: with its own.
absl::StatusOr<v1::ClassifyResponse> ClassifyWith(const OverrideProbe& probe,
                                                  const v1::PositionOverride* positions,
                                                  const Client& client) {
  v1::ClassifyRequest request = probe.request;
  if (positions != nullptr) *request.mutable_position_override() = *positions;
  absl::StatusOr<v1::ClassifyResponse> response = client.Classify(request);
  if (response.ok() && response->results_size() != 1) {
    return absl::InternalError(
        absl::StrCat("the server answered one text with ", response->results_size(), " results"));
  }
  return response;
}

}  // namespace

int RunProbePermute(const v1::ProbePermutationRequest& request, const ProbeOutput& output,
                    const Client& client, Io& io) {
  const absl::StatusOr<v1::ProbePermutationResponse> response = client.ProbePermutation(request);
  if (!response.ok()) return Fail(response.status(), output, client, io);
  *io.out << (output.json ? absl::StrCat(PermutationJson(*response), "\n")
                          : RenderPermutation(*response, output.style));
  return Finish(kSuccess, io);
}

int RunProbeMask(const v1::ProbeMaskingRequest& request, const ProbeOutput& output,
                 const Client& client, Io& io) {
  const absl::StatusOr<v1::ProbeMaskingResponse> response = client.ProbeMasking(request);
  if (!response.ok()) return Fail(response.status(), output, client, io);
  *io.out << (output.json ? absl::StrCat(MaskingJson(*response), "\n")
                          : RenderMasking(*response, output.style));
  return Finish(kSuccess, io);
}

int RunProbeOverride(const OverrideProbe& probe, const ProbeOutput& output, const Client& client,
                     Io& io) {
  const absl::StatusOr<v1::ClassifyResponse> original = ClassifyWith(probe, nullptr, client);
  if (!original.ok()) return Fail(original.status(), output, client, io);
  std::vector<OverrideRun> runs = {{"own", original->results(0)}};
  for (const auto& [name, positions] : probe.positions) {
    const absl::StatusOr<v1::ClassifyResponse> response = ClassifyWith(probe, &positions, client);
    if (!response.ok()) return Fail(response.status(), output, client, io);
    runs.push_back({name, response->results(0)});
  }
  *io.out << (output.json
                  ? absl::StrCat(
                        OverrideJson(runs, original->model_name(), original->model_version()), "\n")
                  : RenderOverride(runs, output.style));
  return Finish(kSuccess, io);
}

int RunProbeLayers(const v1::GetLayerProfileRequest& request, const ProbeOutput& output,
                   const Client& client, Io& io) {
  const absl::StatusOr<v1::GetLayerProfileResponse> response = client.GetLayerProfile(request);
  if (!response.ok()) return Fail(response.status(), output, client, io);
  *io.out << (output.json ? absl::StrCat(LayerProfileJson(*response), "\n")
                          : RenderLayerProfile(*response, output.style));
  return Finish(kSuccess, io);
}

int RunProbeSimilarity(const v1::GetPositionSimilarityRequest& request, const ProbeOutput& output,
                       const Client& client, Io& io) {
  const absl::StatusOr<v1::GetPositionSimilarityResponse> response =
      client.GetPositionSimilarity(request);
  if (!response.ok()) return Fail(response.status(), output, client, io);
  const absl::StatusOr<SimilarityMatrices> similarity = ReadSimilarity(*response);
  if (!similarity.ok()) return Fail(similarity.status(), output, client, io);
  *io.out << (output.json ? absl::StrCat(SimilarityJson(*response, similarity->values), "\n")
                          : RenderSimilarity(response->encoding(), *similarity, output.style));
  return Finish(kSuccess, io);
}

}  // namespace heed::cli
