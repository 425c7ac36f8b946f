#include "client/render/heatmap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/color_scale.h"
#include "client/render/text.h"

namespace heed::cli {
namespace {

constexpr size_t kCellColumns = 2;
// Lines of a file stay readable in an editor.
constexpr size_t kFileRoom = 256;
constexpr size_t kLegendCells = 8;

double Clamp(double level) { return level > 0.0 ? std::min(level, 1.0) : 0.0; }

// Black or white letters, whichever can be read on it.
int TextOn(double level) { return level > 0.5 ? 16 : 231; }

bool HasShades(const Style& style) {
  return style.color && style.palette != Palette::kShadeCharacters;
}

bool GapBefore(const std::vector<size_t>& kept, size_t i) {
  return i == 0 ? kept[0] > 0 : kept[i] > kept[i - 1] + 1;
}

bool GapAtEnd(const std::vector<size_t>& kept, size_t count) { return kept.back() + 1 < count; }

size_t WidthOf(const std::vector<size_t>& kept, size_t count) {
  size_t width = kCellColumns * kept.size() + (GapAtEnd(kept, count) ? 1 : 0);
  for (size_t i = 0; i < kept.size(); ++i) width += GapBefore(kept, i) ? 1 : 0;
  return width;
}

// A line of cells, with `gap` where columns are left out.
template <typename CellAt>
std::string Line(const Heatmap& map, absl::string_view gap, const CellAt& cell_at) {
  std::string line;
  for (size_t i = 0; i < map.columns.size(); ++i) {
    absl::StrAppend(&line, GapBefore(map.columns, i) ? gap : "", cell_at(map.columns[i]));
  }
  if (GapAtEnd(map.columns, map.column_numbers.size())) absl::StrAppend(&line, gap);
  return line;
}

std::string NumberLines(const Heatmap& map, size_t label_width, const Style& style) {
  uint32_t largest = 0;
  for (const size_t column : map.columns) {
    largest = std::max(largest, map.column_numbers[column]);
  }
  const size_t digits = absl::StrCat(largest).size();
  std::string lines;
  for (size_t digit = 0; digit < digits; ++digit) {
    const bool last = digit + 1 == digits;
    const std::string numbers = Line(map, last ? "…" : " ", [&](size_t column) {
      const std::string number = PadLeft(absl::StrCat(map.column_numbers[column]), digits);
      return absl::StrCat(" ", std::string(1, number[digit]));
    });
    absl::StrAppend(&lines, std::string(label_width + 1, ' '), Paint(numbers, Color::kDim, style),
                    "\n");
  }
  return lines;
}

struct Scale {
  double lowest = 0.0;
  double highest = 0.0;
  bool cut = false;  // larger values are shown too

  double LevelOf(float value) const {
    return highest > lowest ? (static_cast<double>(value) - lowest) / (highest - lowest) : 0.0;
  }
};

Scale ScaleOf(const Heatmap& map) {
  float largest = map.lowest;
  for (const size_t row : map.rows) {
    for (const size_t column : map.columns) {
      largest = std::max(largest, map.values[row * map.column_numbers.size() + column]);
    }
  }
  const bool cut = map.highest > map.lowest && map.highest < largest;
  return {static_cast<double>(map.lowest), static_cast<double>(cut ? map.highest : largest), cut};
}

std::string Legend(const Scale& scale, size_t indent, const Style& style) {
  // Adding 0 makes a 0 of -0.
  std::string legend = absl::StrFormat("%s%.4g ", std::string(indent, ' '), scale.lowest + 0.0);
  for (size_t i = 0; i < kLegendCells; ++i) {
    absl::StrAppend(&legend, Cell(static_cast<double>(i) / (kLegendCells - 1), style));
  }
  return absl::StrCat(legend, absl::StrFormat(" %.4g", scale.highest + 0.0),
                      scale.cut ? " or more\n" : "\n");
}

}  // namespace

std::string Shade(absl::string_view text, double level, const Style& style) {
  level = Clamp(level);
  if (!HasShades(style)) return std::string(text);
  if (style.palette == Palette::kGrey256) {
    const auto grey = 232 + static_cast<int>(std::lround(level * 23.0));
    return absl::StrFormat("\x1b[38;5;%d;48;5;%dm%s\x1b[0m", TextOn(level), grey, text);
  }
  const Rgb color = ColorOf(level);
  return absl::StrFormat("\x1b[38;5;%d;48;2;%d;%d;%dm%s\x1b[0m", TextOn(level), color.red,
                         color.green, color.blue, text);
}

std::string Cell(double level, const Style& style) {
  if (HasShades(style)) return Shade("  ", level, style);
  constexpr absl::string_view kShades[] = {"  ", "░░", "▒▒", "▓▓", "██"};
  return std::string(kShades[std::min<size_t>(static_cast<size_t>(Clamp(level) * 5.0), 4)]);
}

std::string RenderHeatmap(const Heatmap& map, const Style& style) {
  if (map.rows.empty() || map.columns.empty()) return "";
  size_t label_width = 0;
  for (const size_t row : map.rows) {
    label_width = std::max(label_width, DisplayWidth(map.row_labels[row]));
  }
  const Scale scale = ScaleOf(map);
  const std::string gap_line = absl::StrCat(PadLeft("…", label_width), "\n");
  std::string text = NumberLines(map, label_width, style);
  for (size_t i = 0; i < map.rows.size(); ++i) {
    const size_t row = map.rows[i];
    if (GapBefore(map.rows, i)) absl::StrAppend(&text, gap_line);
    const float* const values = &map.values[row * map.column_numbers.size()];
    std::string line = absl::StrCat(PadRight(map.row_labels[row], label_width), " ",
                                    Line(map, Paint("…", Color::kDim, style), [&](size_t column) {
                                      return Cell(scale.LevelOf(values[column]), style);
                                    }));
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
  if (GapAtEnd(map.rows, map.row_labels.size())) absl::StrAppend(&text, gap_line);
  return absl::StrCat(text, Legend(scale, label_width + 1, style));
}

std::vector<size_t> FitColumns(const std::vector<float>& importance, size_t room) {
  if (room == 0) room = kFileRoom;
  std::vector<size_t> order(importance.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return importance[a] > importance[b]; });
  order.resize(std::min(order.size(), std::max<size_t>(room / kCellColumns, 1)));
  while (true) {
    std::vector<size_t> kept = order;
    std::sort(kept.begin(), kept.end());
    if (kept.size() <= 1 || WidthOf(kept, importance.size()) <= room) return kept;
    order.pop_back();
  }
}

}  // namespace heed::cli
