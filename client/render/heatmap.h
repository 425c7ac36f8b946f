// A matrix as a field of coloured or shaded cells on a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/render/terminal.h"

namespace heed::cli {

// `text` on the shade for `level` of 0 (dark) to 1 (bright), which is clamped; without colours as
// it is, so that shades that carry meaning need a Cell instead.
std::string Shade(absl::string_view text, double level, const Style& style);

// Two columns of the shade: a block of colour, or of characters from " " to "█".
std::string Cell(double level, const Style& style);

struct Heatmap {
  std::vector<std::string> row_labels;   // escaped, as wide as they are
  std::vector<uint32_t> column_numbers;  // written above the columns, a digit below the other
  std::vector<float> values;             // [rows, columns]
  float lowest = 0.0f;                   // the value of the darkest shade
  // Of the brightest, which larger ones have too; not above lowest: the largest value shown.
  float highest = 0.0f;
  // Rows and columns to show, ascending; what lies between them is a "…".
  std::vector<size_t> rows;
  std::vector<size_t> columns;
};

// The shown cells and a line that tells what the shades mean.
std::string RenderHeatmap(const Heatmap& map, const Style& style);

// Which columns of `importance` fit into `room` terminal columns together with the "…" between
// them: the most important, in their order. All if room is 0 and they are not too many for a file.
std::vector<size_t> FitColumns(const std::vector<float>& importance, size_t room);

}  // namespace heed::cli
