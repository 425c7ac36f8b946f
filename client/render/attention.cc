#include "client/render/attention.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/attention_matrix.h"
#include "client/render/heatmap.h"
#include "client/render/text.h"

namespace heed::cli {
namespace {

constexpr size_t kLabelColumns = 18;
constexpr size_t kPairs = 8;
constexpr size_t kPairBarColumns = 10;
// More rows are elided as columns are.
constexpr size_t kMaxRows = 48;

std::string Headline(const v1::AttentionHeader& header, const Style& style) {
  std::string line;
  const v1::Classification& result = header.classification();
  if (!result.labels().empty()) {
    absl::StrAppend(&line,
                    Paint(absl::StrFormat("%s %.4f", Escape(result.labels(0).label()),
                                          result.labels(0).score()),
                          Color::kBold, style),
                    "  ");
  }
  std::string rest =
      absl::StrCat(FormatCount(static_cast<size_t>(header.tokens_size())), " tokens");
  if (result.usage().truncated()) {
    absl::StrAppend(&rest, " of ", result.usage().original_token_count(), " (truncated)");
  }
  absl::StrAppend(&rest, "  ", Escape(header.model_name()), " ", Escape(header.model_version()));
  return absl::StrCat(line, Paint(rest, Color::kDim, style), "\n");
}

std::string LayerRange(const v1::AttentionHeader& header) {
  const auto& layers = header.layers();
  if (layers.size() == 1) return absl::StrCat("layer ", layers[0]);
  return absl::StrCat(layers.size(), " layers, ", layers[0], " to ", layers[layers.size() - 1]);
}

// What the heatmap shows.
std::string Title(const AttentionData& data) {
  const v1::AttentionHeader& header = data.header;
  const std::string heads = header.heads_size() == 1
                                ? absl::StrCat("head ", header.heads(0))
                                : absl::StrCat("mean over ", header.heads_size(), " heads");
  if (data.reduction == v1::ATTENTION_REDUCTION_ROLLOUT) {
    return absl::StrCat("Attention rollout through ", LayerRange(header), ", ", heads);
  }
  if (data.reduction == v1::ATTENTION_REDUCTION_FLOW) {
    return absl::StrCat("Attention flow through ", LayerRange(header), ", ", heads);
  }
  return absl::StrCat("Attention of layer ", header.layers(header.layers_size() - 1), ", ", heads);
}

std::string RenderMatrix(const AttentionData& data, const AttentionMatrix& matrix,
                         const Style& style) {
  Heatmap map;
  for (const uint32_t row : matrix.rows) {
    map.row_labels.push_back(TokenLabel(data.header, row, kLabelColumns));
  }
  map.column_numbers = matrix.columns;
  map.values = matrix.weights;
  // Special tokens take most of the attention; on their scale the rest would be one shade.
  const std::vector<AttendedPair> largest = TopPairs(matrix, data.header, 1);
  if (!largest.empty()) map.highest = largest[0].weight;
  std::vector<float> attended(matrix.columns.size(), 0.0f);
  for (size_t row = 0; row < matrix.rows.size(); ++row) {
    for (size_t column = 0; column < attended.size(); ++column) {
      attended[column] += matrix.at(row, column);
    }
  }
  size_t label_width = 0;
  for (const std::string& label : map.row_labels) {
    label_width = std::max(label_width, DisplayWidth(label));
  }
  const size_t room =
      style.columns == 0 ? 0 : std::max<size_t>(style.columns, label_width + 9) - label_width - 1;
  map.columns = FitColumns(attended, room);
  for (size_t row = 0; row < matrix.rows.size(); ++row) {
    const bool shown = std::any_of(map.columns.begin(), map.columns.end(), [&](size_t column) {
      return matrix.columns[column] == matrix.rows[row];
    });
    if (matrix.rows.size() <= kMaxRows || shown) map.rows.push_back(row);
  }
  if (map.rows.empty()) {
    map.rows.resize(std::min(matrix.rows.size(), kMaxRows));
    std::iota(map.rows.begin(), map.rows.end(), size_t{0});
  }
  std::string text = RenderHeatmap(map, style);
  if (map.columns.size() < matrix.columns.size()) {
    absl::StrAppend(&text, "… the ", map.columns.size(), " most attended of ",
                    matrix.columns.size(), " tokens\n");
  }
  return text;
}

std::string RenderPairs(const AttentionData& data, const AttentionMatrix& matrix,
                        const Style& style) {
  std::vector<std::vector<std::string>> rows;
  for (const AttendedPair& pair : TopPairs(matrix, data.header, kPairs)) {
    rows.push_back({TokenLabel(data.header, pair.from, kLabelColumns),
                    TokenLabel(data.header, pair.to, kLabelColumns),
                    absl::StrFormat("%.4f", pair.weight),
                    Bar(static_cast<double>(pair.weight), kPairBarColumns)});
  }
  if (rows.empty()) return "";
  return absl::StrCat("\n", RenderTable({{"FROM"}, {"TO"}, {"WEIGHT", true}, {""}}, rows, style));
}

std::string RenderLayers(const AttentionData& data, const Style& style) {
  std::vector<std::vector<std::string>> rows;
  for (size_t layer = 0; layer < data.dimension(0); ++layer) {
    const LayerSummary summary = SummarizeLayer(data, layer);
    const bool one_of_all = data.dimension(0) != static_cast<size_t>(data.header.layers_size());
    rows.push_back({one_of_all ? "all" : absl::StrCat(data.header.layers(static_cast<int>(layer))),
                    absl::StrFormat("%.3f", summary.entropy),
                    absl::StrFormat("%.2f", summary.mean_distance),
                    absl::StrFormat("%.1f %%", 100.0 * summary.special_share)});
  }
  return absl::StrCat(
      "\n",
      RenderTable({{"LAYER", true}, {"ENTROPY", true}, {"DISTANCE", true}, {"ON SPECIAL", true}},
                  rows, style));
}

// Layers × heads, each the mean over its rows.
std::string RenderNumbers(const AttentionData& data, const Style& style) {
  const v1::AttentionHeader& header = data.header;
  const bool entropy = data.reduction == v1::ATTENTION_REDUCTION_ENTROPY;
  Heatmap map;
  std::vector<std::vector<std::string>> rows;
  map.column_numbers.assign(header.heads().begin(), header.heads().end());
  for (size_t layer = 0; layer < data.dimension(0); ++layer) {
    map.row_labels.push_back(absl::StrCat("layer ", header.layers(static_cast<int>(layer))));
    map.rows.push_back(layer);
    const size_t first = map.values.size();
    for (size_t head = 0; head < data.dimension(1); ++head) {
      float sum = 0.0f;
      for (size_t row = 0; row < data.dimension(2); ++row) sum += data.at(layer, head, row, 0);
      map.values.push_back(sum / static_cast<float>(data.dimension(2)));
    }
    const auto begin = map.values.begin() + static_cast<ptrdiff_t>(first);
    const auto [least, most] = std::minmax_element(begin, map.values.end());
    const float mean =
        std::accumulate(begin, map.values.end(), 0.0f) / static_cast<float>(data.dimension(1));
    rows.push_back({absl::StrCat(header.layers(static_cast<int>(layer))),
                    absl::StrFormat("%.3f", *least), absl::StrFormat("%.3f", mean),
                    absl::StrFormat("%.3f", *most)});
  }
  map.columns = FitColumns(std::vector<float>(map.column_numbers.size(), 0.0f),
                           style.columns > 20 ? style.columns - 10 : 0);
  return absl::StrCat(
      Paint(
          entropy ? "Entropy by layer and head, in nats" : "Distance by layer and head, in tokens",
          Color::kBold, style),
      "\n", RenderHeatmap(map, style), "\n",
      RenderTable({{"LAYER", true}, {"LEAST", true}, {"MEAN", true}, {"MOST", true}}, rows, style));
}

}  // namespace

std::string TokenLabel(const v1::AttentionHeader& header, uint32_t token, size_t columns) {
  const size_t digits = absl::StrCat(std::max(header.tokens_size() - 1, 0)).size();
  return Elide(absl::StrCat(PadLeft(absl::StrCat(token), digits), " ",
                            Escape(header.tokens(static_cast<int>(token)).piece())),
               columns);
}

std::string RenderAttention(const AttentionData& data, const Style& style) {
  const std::string headline = Headline(data.header, style);
  if (IsOneNumberARow(data.reduction)) {
    return absl::StrCat(headline, RenderNumbers(data, style));
  }
  const AttentionMatrix matrix = MeanOverHeads(data, data.dimension(0) - 1);
  return absl::StrCat(headline, Paint(Title(data), Color::kBold, style), "\n",
                      RenderMatrix(data, matrix, style), RenderPairs(data, matrix, style),
                      RenderLayers(data, style));
}

}  // namespace heed::cli
