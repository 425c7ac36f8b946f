#include "client/render/png.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/color_scale.h"
#include "client/render/dense.h"
#include "client/render/png_canvas.h"

namespace heed::cli {
namespace {

constexpr double kMargin = 12.0;
constexpr double kGap = 6.0;
constexpr double kLabelStep = 14.0;  // pixels between two labels that do not touch
constexpr double kMaxLabelWidth = 140.0;
constexpr double kColorBarWidth = 16.0;
constexpr double kColorBarSpace = 90.0;  // with its numbers
constexpr double kMinPlotHeight = 120.0;
constexpr double kMinWidth = 360.0;
constexpr TextStyle kLabelStyle = {.size = 11.0, .max_width = kMaxLabelWidth};
constexpr TextStyle kAxisStyle = {.size = 12.0, .bold = true, .max_width = 400.0};

struct Range {
  double min = 0.0;
  double max = 1.0;

  double Share(double value) const {
    if (!std::isfinite(value)) return std::nan("");
    // All the same: the middle of the scale rather than a claim of low or high.
    return max > min ? (value - min) / (max - min) : 0.5;
  }
};

// Widens `range` to what is finite in `values`.
void Include(const std::vector<float>& values, bool* found, Range* range) {
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    range->min = *found ? std::min<double>(range->min, value) : value;
    range->max = *found ? std::max<double>(range->max, value) : value;
    *found = true;
  }
}

std::vector<Rgb> ColorsOf(const std::vector<float>& values, const Range& range) {
  std::vector<Rgb> colors;
  colors.reserve(values.size());
  for (const float value : values) colors.push_back(ColorOf(range.Share(value)));
  return colors;
}

absl::Status CheckCells(size_t rows, size_t columns) {
  if (rows == 0 || columns == 0) return absl::InvalidArgumentError("nothing to draw");
  if (rows <= kMaxPngCells && columns <= kMaxPngCells) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a picture of ", rows, " x ", columns,
                                                 " cells is larger than ", kMaxPngCells,
                                                 " a side: select fewer rows or columns"));
}

double LabelWidth(const std::vector<std::string>& labels, size_t step) {
  double width = 0.0;
  for (size_t i = 0; i < labels.size(); i += step) {
    width = std::max(width, MeasureText(labels[i], kLabelStyle).width);
  }
  return std::min(width, kMaxLabelWidth);
}

size_t LabelEvery(double cell) { return static_cast<size_t>(std::ceil(kLabelStep / cell)); }

void DrawTitle(const std::string& title, double width, PngCanvas* canvas) {
  canvas->Text(title, width / 2.0, kMargin + 10.0, Align::kCenter,
               {.size = 14.0, .bold = true, .max_width = width - 2.0 * kMargin});
}

void DrawColorBar(const Range& range, double x, double y, double height, PngCanvas* canvas) {
  std::vector<Rgb> colors;
  for (size_t i = 0; i < kViridis.size(); ++i) {
    colors.push_back(ColorOf(1.0 - static_cast<double>(i) / 255.0));
  }
  canvas->Image(colors, colors.size(), 1, x, y, kColorBarWidth, height);
  canvas->StrokeRectangle(x, y, kColorBarWidth, height);
  constexpr int kSteps = 4;
  for (int i = 0; i <= kSteps; ++i) {
    const double share = static_cast<double>(i) / kSteps;
    const double at = y + (1.0 - share) * (height - 1.0);
    canvas->Line(x + kColorBarWidth, at, x + kColorBarWidth + 4.0, at);
    canvas->Text(absl::StrFormat("%.3g", range.min + share * (range.max - range.min)),
                 x + kColorBarWidth + kGap, at, Align::kStart, kLabelStyle);
  }
}

constexpr double kTitleSpace = kMargin + 26.0;

struct Box {
  double x = 0.0;
  double y = 0.0;
  double width = 0.0;
  double height = 0.0;
};

void DrawRowLabels(const std::vector<std::string>& labels, const Box& plot, PngCanvas* canvas) {
  const double cell = plot.height / static_cast<double>(labels.size());
  const size_t step = LabelEvery(cell);
  for (size_t i = 0; i < labels.size(); i += step) {
    const double y = plot.y + (static_cast<double>(i) + 0.5) * cell;
    canvas->Line(plot.x - 4.0, y, plot.x - 1.0, y);
    canvas->Text(labels[i], plot.x - kGap, y, Align::kEnd, kLabelStyle);
  }
}

void DrawColumnLabels(const std::vector<std::string>& labels, const Box& plot, PngCanvas* canvas) {
  const double cell = plot.width / static_cast<double>(labels.size());
  const double bottom = plot.y + plot.height;
  const size_t step = LabelEvery(cell);
  for (size_t i = 0; i < labels.size(); i += step) {
    const double x = plot.x + (static_cast<double>(i) + 0.5) * cell;
    canvas->Line(x, bottom + 1.0, x, bottom + 4.0);
    canvas->TextUpwards(labels[i], x, bottom + kGap, Align::kEnd, kLabelStyle);
  }
}

}  // namespace

absl::Status WriteMatrixPng(const std::string& path, const PngMatrix& matrix) {
  const size_t rows = matrix.row_labels.size();
  const size_t columns = matrix.column_labels.size();
  if (absl::Status status = CheckCells(rows, columns); !status.ok()) return status;
  if (matrix.values.size() != rows * columns) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a matrix of ", rows, " x ", columns, " labels has ", matrix.values.size(), " values"));
  }
  Range range;
  bool found = false;
  Include(matrix.values, &found, &range);
  range.min = matrix.min.value_or(range.min);
  range.max = matrix.max.value_or(range.max);

  // Whole pixels a cell, about 900 for the longer side, so that cells are equally large.
  const double cell =
      std::clamp(std::floor(900.0 / static_cast<double>(std::max(rows, columns))), 1.0, 32.0);
  Box plot;
  plot.width = cell * static_cast<double>(columns);
  plot.height = cell * static_cast<double>(rows);
  const size_t step = LabelEvery(cell);
  plot.x =
      kMargin + LabelWidth(matrix.row_labels, step) + kGap + (matrix.row_axis.empty() ? 0.0 : 20.0);
  plot.x = std::ceil(plot.x);
  plot.y = kTitleSpace;
  const double below =
      LabelWidth(matrix.column_labels, step) + kGap + (matrix.column_axis.empty() ? 0.0 : 24.0);
  const double bar_height = std::max(plot.height, kMinPlotHeight);
  const double width = std::max(plot.x + plot.width + 20.0 + kColorBarSpace + kMargin, kMinWidth);
  const double height = plot.y + std::max(plot.height + below, bar_height + kGap) + kMargin;

  absl::StatusOr<PngCanvas> canvas = PngCanvas::Create(width, height);
  if (!canvas.ok()) return canvas.status();
  DrawTitle(matrix.title, width, &*canvas);
  canvas->Image(ColorsOf(matrix.values, range), rows, columns, plot.x, plot.y, plot.width,
                plot.height);
  canvas->StrokeRectangle(plot.x, plot.y, plot.width, plot.height);
  DrawRowLabels(matrix.row_labels, plot, &*canvas);
  DrawColumnLabels(matrix.column_labels, plot, &*canvas);
  if (!matrix.row_axis.empty()) {
    canvas->TextUpwards(matrix.row_axis, kMargin + 6.0, plot.y + plot.height / 2.0, Align::kCenter,
                        kAxisStyle);
  }
  if (!matrix.column_axis.empty()) {
    canvas->Text(matrix.column_axis, plot.x + plot.width / 2.0, plot.y + plot.height + below - 6.0,
                 Align::kCenter, kAxisStyle);
  }
  DrawColorBar(range, plot.x + plot.width + 20.0, plot.y, bar_height, &*canvas);
  return canvas->Write(path);
}

absl::Status WriteBarsPng(const std::string& path, const PngBars& bars) {
  constexpr double kBarStep = 20.0;
  constexpr double kBarsWidth = 420.0;
  constexpr double kNumberSpace = 64.0;
  const size_t count = bars.labels.size();
  if (absl::Status status = CheckCells(count, 1); !status.ok()) return status;
  if (bars.values.size() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat(count, " labels have ", bars.values.size(), " values"));
  }
  Range range{.min = 0.0, .max = 0.0};
  bool found = true;  // the axis includes 0
  Include(bars.values, &found, &range);
  if (range.max == range.min) range.max = 1.0;
  const double left = range.min < 0.0 ? kNumberSpace : 0.0;
  const double x = std::ceil(kMargin + LabelWidth(bars.labels, 1) + kGap + left);
  const double y = kTitleSpace;
  const double plot_height = kBarStep * static_cast<double>(count);
  const double width = x + kBarsWidth + kNumberSpace + kMargin;
  absl::StatusOr<PngCanvas> canvas =
      PngCanvas::Create(width, y + plot_height + (bars.value_axis.empty() ? 0.0 : 26.0) + kMargin);
  if (!canvas.ok()) return canvas.status();
  DrawTitle(bars.title, width, &*canvas);
  const double zero = x + range.Share(0.0) * kBarsWidth;
  for (size_t i = 0; i < count; ++i) {
    const double middle = y + (static_cast<double>(i) + 0.5) * kBarStep;
    const double value = bars.values[i];
    canvas->Text(bars.labels[i], x - left - kGap, middle, Align::kEnd, kLabelStyle);
    if (!std::isfinite(value)) {
      canvas->Text("no value", zero + kGap, middle, Align::kStart, kLabelStyle);
      continue;
    }
    const double end = x + range.Share(value) * kBarsWidth;
    // One colour: the length says it all.
    canvas->FillRectangle(std::min(zero, end), middle - 7.0, std::abs(end - zero), 14.0,
                          ColorOf(0.4));
    canvas->Text(absl::StrFormat("%.4g", value), end + (value < 0.0 ? -kGap : kGap), middle,
                 value < 0.0 ? Align::kEnd : Align::kStart, kLabelStyle);
  }
  canvas->Line(zero, y, zero, y + plot_height);
  if (!bars.value_axis.empty()) {
    canvas->Text(bars.value_axis, x + kBarsWidth / 2.0, y + plot_height + 14.0, Align::kCenter,
                 kAxisStyle);
  }
  return canvas->Write(path);
}

absl::Status WriteHeadPng(const std::string& path, const AttentionData& data, size_t layer,
                          size_t head) {
  if (absl::Status status = CheckAttention(data); !status.ok()) return status;
  if (layer >= data.dimension(0) || head >= data.dimension(1)) {
    return absl::InvalidArgumentError(absl::StrCat("no picture of place ", layer, ", ", head,
                                                   " in attention of ", data.dimension(0),
                                                   " layers and ", data.dimension(1), " heads"));
  }
  PngMatrix matrix;
  matrix.title = absl::StrCat(data.header.model_name(), ": ", LayerName(data, layer), ", ",
                              HeadName(data, head));
  matrix.row_axis = "from token";
  matrix.row_labels = TokenPieces(data.header, data.header.query_rows());
  if (HasOneNumberARow(data)) {
    matrix.column_labels = {data.reduction == v1::ATTENTION_REDUCTION_ENTROPY
                                ? "entropy (nats)"
                                : "mean distance (tokens)"};
  } else {
    matrix.column_axis = "to token";
    matrix.column_labels = TokenPieces(data.header, data.header.key_columns());
  }
  matrix.values = DenseMatrix(data, layer, head);
  matrix.min = 0.0;
  return WriteMatrixPng(path, matrix);
}

absl::Status WriteAttentionGridPng(const std::string& path, const AttentionData& data) {
  if (absl::Status status = CheckAttention(data); !status.ok()) return status;
  const size_t layers = data.dimension(0);
  const size_t heads = data.dimension(1);
  const size_t rows = data.dimension(2);
  const size_t columns = DenseColumns(data);
  for (const auto& [down, across] : {std::pair{rows, columns}, std::pair{layers, heads}}) {
    if (absl::Status status = CheckCells(down, across); !status.ok()) return status;
  }
  Range range;
  bool found = false;
  Include(data.weights, &found, &range);
  range.min = 0.0;

  // A panel is as large as its matrix within these bounds; beyond, cells are averaged.
  const double side = std::clamp(static_cast<double>(std::max(rows, columns)), 64.0, 256.0);
  std::vector<std::string> layer_names;
  for (size_t layer = 0; layer < layers; ++layer) layer_names.push_back(LayerName(data, layer));
  constexpr double kPanelGap = 8.0;
  const double x = std::ceil(kMargin + LabelWidth(layer_names, 1) + kGap);
  const double y = kTitleSpace + 18.0;
  const double grid_width = static_cast<double>(heads) * (side + kPanelGap);
  const double grid_height = static_cast<double>(layers) * (side + kPanelGap);
  const double bar_height = std::clamp(grid_height - kPanelGap, kMinPlotHeight, 480.0);
  const double width = std::max(x + grid_width + 16.0 + kColorBarSpace + kMargin, kMinWidth);
  absl::StatusOr<PngCanvas> canvas =
      PngCanvas::Create(width, y + std::max(grid_height, bar_height) + kMargin);
  if (!canvas.ok()) return canvas.status();
  DrawTitle(absl::StrCat(data.header.model_name(), ": attention of ", rows, " tokens"), width,
            &*canvas);
  for (size_t head = 0; head < heads; ++head) {
    canvas->Text(HeadName(data, head),
                 x + static_cast<double>(head) * (side + kPanelGap) + side / 2, y - 10.0,
                 Align::kCenter, {.size = 11.0, .max_width = side});
  }
  for (size_t layer = 0; layer < layers; ++layer) {
    const double top = y + static_cast<double>(layer) * (side + kPanelGap);
    canvas->Text(layer_names[layer], x - kGap, top + side / 2.0, Align::kEnd, kLabelStyle);
    for (size_t head = 0; head < heads; ++head) {
      const double left = x + static_cast<double>(head) * (side + kPanelGap);
      canvas->Image(ColorsOf(DenseMatrix(data, layer, head), range), rows, columns, left, top, side,
                    side);
      canvas->StrokeRectangle(left, top, side, side);
    }
  }
  DrawColorBar(range, x + grid_width + 16.0, y, bar_height, &*canvas);
  return canvas->Write(path);
}

}  // namespace heed::cli
