#include "client/commands/probe.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/commands/exit_code.h"
#include "client/render/attention_json.h"
#include "client/render/png.h"
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

// Numbers as labels, each behind `name`.
std::vector<std::string> NumberLabels(const char* name, size_t count) {
  std::vector<std::string> labels;
  for (size_t i = 0; i < count; ++i) labels.push_back(absl::StrCat(name, i));
  return labels;
}

// Draws the file that was asked for, and prints `text` where it is wanted besides.
int DrawOrPrint(const PngMatrix& matrix, const std::string& text, const ProbeOutput& output,
                Io& io) {
  if (!output.png.empty()) {
    if (absl::Status status = WriteMatrixPng(output.png, matrix); !status.ok()) {
      PrintError(status.message(), io);
      return kUsage;
    }
  }
  if (output.png.empty() || output.json) *io.out << text;
  return Finish(kSuccess, io);
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
  const std::string text = output.json ? absl::StrCat(LayerProfileJson(*response), "\n")
                                       : RenderLayerProfile(*response, output.style);
  absl::StatusOr<std::vector<float>> shares = PositionShares(*response);
  if (!shares.ok()) return Fail(shares.status(), output, client, io);
  PngMatrix matrix = {"Share of the score variance that positions explain", "layer", "head"};
  for (const v1::LayerProfile& layer : response->layers()) {
    matrix.row_labels.push_back(absl::StrCat(layer.layer()));
  }
  if (!response->layers().empty()) {
    matrix.column_labels =
        NumberLabels("", static_cast<size_t>(response->layers(0).position_share_size()));
  }
  matrix.values = *std::move(shares);
  matrix.min = 0.0;
  matrix.max = 1.0;
  return DrawOrPrint(matrix, text, output, io);
}

int RunProbeSimilarity(const v1::GetPositionSimilarityRequest& request, const ProbeOutput& output,
                       const Client& client, Io& io) {
  const absl::StatusOr<v1::GetPositionSimilarityResponse> response =
      client.GetPositionSimilarity(request);
  if (!response.ok()) return Fail(response.status(), output, client, io);
  const absl::StatusOr<SimilarityMatrices> similarity = ReadSimilarity(*response);
  if (!similarity.ok()) return Fail(similarity.status(), output, client, io);
  const std::string text = output.json
                               ? absl::StrCat(SimilarityJson(*response, similarity->values), "\n")
                               : RenderSimilarity(response->encoding(), *similarity, output.style);
  // Heads stand below one another, each with its own rows.
  const size_t count = similarity->position_count;
  PngMatrix matrix = {absl::StrCat("Similarity of positions under ", response->encoding()),
                      "position", "position"};
  for (size_t i = 0; i < similarity->matrix_count; ++i) {
    const std::string head =
        similarity->matrix_count > 1 ? absl::StrCat("head ", i, ": ") : std::string();
    for (const std::string& label : NumberLabels(head.c_str(), count)) {
      matrix.row_labels.push_back(label);
    }
  }
  matrix.column_labels = NumberLabels("", count);
  matrix.values = similarity->values;
  const float brightest = BrightestSimilarity(matrix.values, count);
  if (brightest < *std::max_element(matrix.values.begin(), matrix.values.end())) {
    matrix.max = static_cast<double>(brightest);
    absl::StrAppend(&matrix.title, absl::StrFormat(" (brightest: %.3g or more)", brightest));
  }
  return DrawOrPrint(matrix, text, output, io);
}

}  // namespace heed::cli
