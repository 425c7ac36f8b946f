// What a terminal can do, and the few marks that Heed draws on one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace heed::cli {

// What a terminal has for shades, where it has colours at all.
enum class Palette { kShadeCharacters, kGrey256, kTrueColor };

// How output is to look; the same for a whole run.
struct Style {
  bool color = false;
  // Columns of a line; 0: unlimited, as in a file or a pipe.
  size_t columns = 0;
  // Counts only with `color`.
  Palette palette = Palette::kShadeCharacters;
};

enum class Color { kBold, kDim, kGreen, kYellow, kRed };

// `text` in that colour, or as it is without Style::color.
std::string Paint(absl::string_view text, Color color, const Style& style);

// A bar of `columns` cells filled to `share`, in eighths of a cell; spaces behind it. Nothing but
// spaces for a share outside [0, 1] or not a number.
std::string Bar(double share, size_t columns);

// "87.4 MB", "512 B": decimal units, three figures.
std::string FormatBytes(double bytes);

// "12,800".
std::string FormatCount(size_t count);

struct Column {
  std::string title;
  bool right = false;  // numbers
};

// A table with a title line in bold; the last column is neither padded nor limited. Cells are
// printed as they are: escape them first.
std::string RenderTable(const std::vector<Column>& columns,
                        const std::vector<std::vector<std::string>>& rows, const Style& style);

}  // namespace heed::cli
