#include "client/render/terminal.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/text.h"

namespace heed::cli {
namespace {

absl::string_view CodeOf(Color color) {
  switch (color) {
    case Color::kBold:
      return "\x1b[1m";
    case Color::kDim:
      return "\x1b[2m";
    case Color::kGreen:
      return "\x1b[32m";
    case Color::kYellow:
      return "\x1b[33m";
    case Color::kRed:
      return "\x1b[31m";
  }
  return "";
}

std::string RenderRow(const std::vector<Column>& columns, const std::vector<std::string>& cells,
                      const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) absl::StrAppend(&line, "  ");
    if (columns[i].right) {
      absl::StrAppend(&line, PadLeft(cells[i], widths[i]));
    } else {
      absl::StrAppend(&line, i + 1 == cells.size() ? cells[i] : PadRight(cells[i], widths[i]));
    }
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string Paint(absl::string_view text, Color color, const Style& style) {
  if (!style.color || text.empty()) return std::string(text);
  return absl::StrCat(CodeOf(color), text, "\x1b[0m");
}

std::string Bar(double share, size_t columns) {
  if (!(share >= 0.0 && share <= 1.0)) return std::string(columns, ' ');
  constexpr absl::string_view kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<size_t>(std::lround(share * 8.0 * static_cast<double>(columns)));
  std::string bar;
  for (size_t i = 0; i < eighths / 8; ++i) absl::StrAppend(&bar, "█");
  absl::StrAppend(&bar, kParts[eighths % 8]);
  return PadRight(bar, columns);
}

std::string FormatBytes(double bytes) {
  constexpr absl::string_view kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  // 999.5 would be printed as 1000.
  while (bytes >= 999.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000.0;
    ++unit;
  }
  const int decimals = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  return absl::StrFormat("%.*f %s", decimals, bytes, kUnits[unit]);
}

std::string FormatCount(size_t count) {
  const std::string digits = absl::StrCat(count);
  std::string result;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) result.push_back(',');
    result.push_back(digits[i]);
  }
  return result;
}

std::string RenderTable(const std::vector<Column>& columns,
                        const std::vector<std::vector<std::string>>& rows, const Style& style) {
  std::vector<std::string> titles;
  std::vector<size_t> widths;
  for (const Column& column : columns) {
    titles.push_back(column.title);
    widths.push_back(DisplayWidth(column.title));
  }
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  std::string table =
      absl::StrCat(Paint(RenderRow(columns, titles, widths), Color::kBold, style), "\n");
  for (const auto& row : rows) absl::StrAppend(&table, RenderRow(columns, row, widths), "\n");
  return table;
}

}  // namespace heed::cli
