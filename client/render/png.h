// Matrices as pictures: one attention head, every head of every layer, or the result of a probe.
// The only place of the client that draws; nothing of the drawing library shows here.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/attention_data.h"

namespace heed::cli {

// All functions below write a PNG file to `path`, replacing what is there, and are thread-safe.
// Labels may hold any bytes: what is not UTF-8 or would steer the text is made visible, and scripts
// are drawn in their direction with the fonts of the system. Long labels are elided, and where not
// all have room every k-th is drawn. Values that are not finite are grey.
// Errors: INVALID_ARGUMENT for lists that do not fit each other, an empty matrix, or more cells
// than kMaxPngCells a side or pixels than kMaxPngPixels; NOT_FOUND, PERMISSION_DENIED or UNKNOWN,
// with the path and the system's reason, where the file cannot be written. Nothing is left behind
// then.
inline constexpr size_t kMaxPngCells = 4096;
inline constexpr size_t kMaxPngPixels = 32 << 20;

struct PngMatrix {
  std::string title;
  // Names of the axes; empty: none.
  std::string row_axis;
  std::string column_axis;
  std::vector<std::string> row_labels;
  std::vector<std::string> column_labels;
  // [row_labels, column_labels], row-major.
  std::vector<float> values;
  // Ends of the colour bar; nullopt: the smallest and the largest finite value.
  std::optional<double> min;
  std::optional<double> max;
};

// A heat map with labelled axes and a colour bar.
absl::Status WriteMatrixPng(const std::string& path, const PngMatrix& matrix);

struct PngBars {
  std::string title;
  // What the bars measure; empty: none.
  std::string value_axis;
  std::vector<std::string> labels;
  // One a label. The axis always includes 0.
  std::vector<float> values;
};

// One horizontal bar a label, with its number behind it.
absl::Status WriteBarsPng(const std::string& path, const PngBars& bars);

// One head. `layer` and `head` are places in the lists of data.header. Rows are queries, columns
// keys; the colour bar starts at 0. Weights that top_k left out are grey.
absl::Status WriteHeadPng(const std::string& path, const AttentionData& data, size_t layer,
                          size_t head);

// All that `data` holds: a row of small pictures a layer, a column a head, and one colour bar from
// 0 to the largest weight. For reductions to one number a row, each picture is one column of cells.
absl::Status WriteAttentionGridPng(const std::string& path, const AttentionData& data);

}  // namespace heed::cli
