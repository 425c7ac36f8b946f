#include "client/render/probe.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/attention_decoder.h"
#include "client/render/heatmap.h"
#include "client/render/text.h"

namespace heed::cli {
namespace {

constexpr size_t kBarColumns = 10;
constexpr size_t kRowLabelColumns = 10;
// Columns of the table by distance, so that it stays narrow with many heads.
constexpr size_t kShownMatrices = 8;

std::string Percent(double share) { return absl::StrFormat("%.1f %%", 100.0 * share); }

std::string Label(const v1::Classification& result) {
  return result.labels().empty() ? "-" : Escape(result.labels(0).label());
}

std::string Original(const v1::Classification& result, const Style& style) {
  if (result.labels().empty()) return "";
  return absl::StrCat(Paint(absl::StrFormat("%s %.4f", Label(result), result.labels(0).score()),
                            Color::kBold, style),
                      "  as written\n");
}

double Mean(const google::protobuf::RepeatedField<float>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return values.empty() ? 0.0 : sum / values.size();
}

// The score of one label, by its id.
double ScoreOf(const v1::Classification& result, uint32_t label_id) {
  for (const v1::LabelScore& label : result.labels()) {
    if (label.label_id() == label_id) return static_cast<double>(label.score());
  }
  return 0.0;
}

std::vector<size_t> AllOf(size_t count) {
  std::vector<size_t> all(count);
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

size_t Room(const Style& style) {
  return style.columns > 2 * kRowLabelColumns ? style.columns - kRowLabelColumns : 0;
}

// Mean of one matrix over all pairs that far apart.
double MeanAtDistance(const SimilarityMatrices& similarity, size_t matrix, size_t distance) {
  const size_t count = similarity.position_count;
  const float* const values = &similarity.values[matrix * count * count];
  double sum = 0.0;
  for (size_t i = 0; i + distance < count; ++i) {
    sum += static_cast<double>(values[i * count + i + distance]) +
           static_cast<double>(values[(i + distance) * count + i]);
  }
  return sum / (2.0 * static_cast<double>(count - distance));
}

std::string RenderDistances(const SimilarityMatrices& similarity, const Style& style) {
  const size_t shown = std::min(similarity.matrix_count, kShownMatrices);
  std::vector<Column> columns = {{"DISTANCE", true}};
  for (size_t matrix = 0; matrix < shown; ++matrix) {
    columns.push_back(
        {similarity.matrix_count == 1 ? "SIMILARITY" : absl::StrCat("HEAD ", matrix), true});
  }
  std::vector<std::vector<std::string>> rows;
  for (size_t distance = 0; distance < similarity.position_count;
       distance = distance == 0 ? 1 : 2 * distance) {
    rows.push_back({absl::StrCat(distance)});
    for (size_t matrix = 0; matrix < shown; ++matrix) {
      rows.back().push_back(absl::StrFormat("%.4g", MeanAtDistance(similarity, matrix, distance)));
    }
  }
  return RenderTable(columns, rows, style);
}

}  // namespace

std::string RenderPermutation(const v1::ProbePermutationResponse& response, const Style& style) {
  struct Share {
    size_t orders = 0;
    double score = 0.0;
  };
  std::map<std::string, Share> shares;
  for (const v1::Classification& result : response.permuted()) {
    Share& share = shares[Label(result)];
    ++share.orders;
    if (!result.labels().empty()) share.score += static_cast<double>(result.labels(0).score());
  }
  std::vector<std::pair<std::string, Share>> sorted(shares.begin(), shares.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.orders > b.second.orders; });
  std::vector<std::vector<std::string>> rows;
  for (const auto& [label, share] : sorted) {
    const double part = static_cast<double>(share.orders) / response.permuted_size();
    rows.push_back({label, absl::StrCat(share.orders), Percent(part),
                    absl::StrFormat("%.4f", share.score / static_cast<double>(share.orders)),
                    Bar(part, kBarColumns)});
  }
  return absl::StrCat(
      Original(response.original(), style), Percent(response.label_agreement()), " of ",
      response.permuted_size(), " random orders have the same label\n",
      absl::StrFormat("%.3g", response.equivariance_error()),
      " equivariance error (0 up to rounding: order does not count)\n\n",
      RenderTable({{"LABEL"}, {"ORDERS", true}, {"SHARE", true}, {"MEAN SCORE", true}, {""}}, rows,
                  style));
}

std::string RenderMasking(const v1::ProbeMaskingResponse& response, const Style& style) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::MaskingResult& result : response.results()) {
    rows.push_back({Percent(result.fraction()), Percent(result.label_agreement()),
                    absl::StrFormat("%.4f", result.mean_score_of_original_label()),
                    Bar(static_cast<double>(result.label_agreement()), kBarColumns)});
  }
  return absl::StrCat(
      Original(response.original(), style), "\n",
      RenderTable({{"TOKENS", true}, {"SAME LABEL", true}, {"MEAN SCORE", true}, {""}}, rows,
                  style));
}

std::string RenderOverride(const std::vector<OverrideRun>& runs, const Style& style) {
  std::vector<std::vector<std::string>> rows;
  for (const OverrideRun& run : runs) {
    if (run.result.labels().empty()) continue;
    const v1::LabelScore& first = runs[0].result.labels(0);
    const double score = ScoreOf(run.result, first.label_id());
    rows.push_back({Escape(run.name), Label(run.result),
                    absl::StrFormat("%.4f", run.result.labels(0).score()),
                    absl::StrFormat("%+.4f", score - static_cast<double>(first.score()))});
  }
  if (rows.empty()) return "the model labels tokens, not texts\n";
  const std::string change = absl::StrCat("CHANGE OF ", Label(runs[0].result));
  return RenderTable({{"POSITIONS"}, {"LABEL"}, {"SCORE", true}, {change, true}}, rows, style);
}

absl::StatusOr<std::vector<float>> PositionShares(const v1::GetLayerProfileResponse& response) {
  std::vector<float> shares;
  for (const v1::LayerProfile& layer : response.layers()) {
    if (layer.position_share().empty() ||
        layer.position_share_size() != response.layers(0).position_share_size()) {
      return absl::InternalError("the server's layers have not all the same number of heads");
    }
    shares.insert(shares.end(), layer.position_share().begin(), layer.position_share().end());
  }
  return shares;
}

std::string RenderLayerProfile(const v1::GetLayerProfileResponse& response, const Style& style) {
  std::vector<std::vector<std::string>> rows;
  Heatmap map;
  for (const v1::LayerProfile& layer : response.layers()) {
    const double position = Mean(layer.position_share()), content = Mean(layer.content_share());
    rows.push_back({absl::StrCat(layer.layer()), Percent(position), Percent(content),
                    Percent(1.0 - position - content), Bar(position, kBarColumns)});
    map.row_labels.push_back(absl::StrCat("layer ", layer.layer()));
  }
  std::string text = RenderTable(
      {{"LAYER", true}, {"POSITION", true}, {"CONTENT", true}, {"BOTH", true}, {""}}, rows, style);
  absl::StatusOr<std::vector<float>> shares = PositionShares(response);
  if (!shares.ok() || shares->empty()) return text;
  const auto heads = static_cast<uint32_t>(response.layers(0).position_share_size());
  map.values = *std::move(shares);
  for (uint32_t head = 0; head < heads; ++head) map.column_numbers.push_back(head);
  map.rows = AllOf(map.row_labels.size());
  map.columns = FitColumns(std::vector<float>(heads, 0.0f), Room(style));
  return absl::StrCat(text, "\n",
                      Paint("Share of positions by layer and head", Color::kBold, style), "\n",
                      RenderHeatmap(map, style));
}

absl::StatusOr<SimilarityMatrices> ReadSimilarity(
    const v1::GetPositionSimilarityResponse& response) {
  const v1::Tensor& tensor = response.similarity();
  const int rank = tensor.shape_size();
  const int64_t count = rank > 0 ? tensor.shape(rank - 1) : 0;
  if ((rank != 2 && rank != 3) || count < 1 || tensor.shape(rank - 2) != count) {
    return absl::InternalError(
        "the server's similarity is not a square matrix, or one for each head");
  }
  absl::StatusOr<std::vector<float>> values = DecodeTensor(tensor, static_cast<size_t>(count));
  if (!values.ok()) return values.status();
  const auto positions = static_cast<size_t>(count);
  return SimilarityMatrices{values->size() / (positions * positions), positions,
                            *std::move(values)};
}

float BrightestSimilarity(const std::vector<float>& values, size_t count) {
  constexpr float kFarAbove = 4.0f;
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  float others = *lowest;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i / count % count != i % count) others = std::max(others, values[i]);
  }
  return *highest - *lowest > kFarAbove * (others - *lowest) ? others : *highest;
}

std::string RenderSimilarity(const std::string& encoding, const SimilarityMatrices& similarity,
                             const Style& style) {
  const size_t count = similarity.position_count;
  Heatmap map;
  for (size_t position = 0; position < count; ++position) {
    map.row_labels.push_back(absl::StrCat(position));
    map.column_numbers.push_back(static_cast<uint32_t>(position));
  }
  map.values.assign(similarity.values.begin(),
                    similarity.values.begin() + static_cast<ptrdiff_t>(count * count));
  map.lowest = *std::min_element(map.values.begin(), map.values.end());
  map.highest = BrightestSimilarity(map.values, count);
  map.columns = FitColumns(std::vector<float>(count, 0.0f), Room(style));
  map.rows = map.columns;
  std::string title = absl::StrCat("Similarity of positions under ", Escape(encoding));
  if (similarity.matrix_count > 1) {
    absl::StrAppend(&title, ", head 0 of ", similarity.matrix_count);
  }
  return absl::StrCat(Paint(title, Color::kBold, style), "\n", RenderHeatmap(map, style), "\n",
                      RenderDistances(similarity, style));
}

}  // namespace heed::cli
