// What the patterns with global tokens have in common: a global query sees every key, any other
// query sees its own neighbourhood and the global keys.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/attention/pattern.h"

namespace heed {

// Tiles for the global queries among [begin, end): runs of neighbours against all keys.
// is_global: [length].
void ForEachGlobalTile(const std::vector<uint8_t>& is_global, int64_t begin, int64_t end,
                       int64_t max_scores, const std::function<void(const PatternTile&)>& visit);

// The runs of queries in [begin, end) that are not global, as [first, last) pairs.
std::vector<std::pair<int64_t, int64_t>> LocalRuns(const std::vector<uint8_t>& is_global,
                                                   int64_t begin, int64_t end);

// The keys of [begin, end) and every global key, ascending. globals: ascending.
std::vector<int64_t> WithGlobals(int64_t begin, int64_t end, const std::vector<int64_t>& globals);

}  // namespace heed
