#include "model/attention/patterns/global_rows.h"

#include <algorithm>

namespace heed {
namespace {

std::vector<std::pair<int64_t, int64_t>> Runs(const std::vector<uint8_t>& is_global, int64_t begin,
                                              int64_t end, bool global) {
  std::vector<std::pair<int64_t, int64_t>> runs;
  for (int64_t i = begin; i < end; ++i) {
    if ((is_global[i] != 0) != global) continue;
    if (!runs.empty() && runs.back().second == i) {
      ++runs.back().second;
    } else {
      runs.emplace_back(i, i + 1);
    }
  }
  return runs;
}

}  // namespace

void ForEachGlobalTile(const std::vector<uint8_t>& is_global, int64_t begin, int64_t end,
                       int64_t max_scores, const std::function<void(const PatternTile&)>& visit) {
  const auto length = static_cast<int64_t>(is_global.size());
  for (const auto& [first, last] : Runs(is_global, begin, end, true)) {
    const int64_t rows = TileRows(last - first, length, max_scores);
    for (int64_t row = first; row < last; row += rows) {
      PatternTile tile;
      tile.row_begin = row;
      tile.row_end = std::min(row + rows, last);
      tile.key_end = length;
      tile.global = true;
      visit(tile);
    }
  }
}

std::vector<std::pair<int64_t, int64_t>> LocalRuns(const std::vector<uint8_t>& is_global,
                                                   int64_t begin, int64_t end) {
  return Runs(is_global, begin, end, false);
}

std::vector<int64_t> WithGlobals(int64_t begin, int64_t end, const std::vector<int64_t>& globals) {
  std::vector<int64_t> keys;
  keys.reserve(end - begin + globals.size());
  auto global = globals.begin();
  for (; global != globals.end() && *global < begin; ++global) keys.push_back(*global);
  for (int64_t j = begin; j < end; ++j) keys.push_back(j);
  for (; global != globals.end() && *global < end;) ++global;
  keys.insert(keys.end(), global, globals.end());
  return keys;
}

}  // namespace heed
