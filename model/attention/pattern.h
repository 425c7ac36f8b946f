// An attention pattern says which keys a query may see. It hands out the score matrix of a text in
// tiles that hold only those keys, so that time and memory follow the pattern and not n².
// One variant is one file in patterns/, picked by the name in the model's configuration.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace heed {

// What a pattern may know of a text.
struct TextShape {
  int64_t length = 0;
  // The width the text stands for (RaggedBatch::context_lengths); its own length as a rule.
  int64_t context_length = 0;
  // Tokens with global attention, ascending.
  std::vector<int64_t> globals;
};

// m neighbouring queries and every key that any of them may see.
struct PatternTile {
  int64_t row_begin = 0;
  int64_t row_end = 0;
  // The keys, ascending: key_begin … key_end-1, or `keys` where they are not one run.
  int64_t key_begin = 0;
  int64_t key_end = 0;
  std::vector<int64_t> keys;
  // The queries are global tokens: a model with projections of their own uses those.
  bool global = false;
  // [m, n] bool; undefined: every query sees every key of the tile.
  at::Tensor visible;
  // [m, n] float32, added to the scores; undefined: nothing.
  at::Tensor bias;

  int64_t row_count() const { return row_end - row_begin; }
  int64_t key_count() const {
    return keys.empty() ? key_end - key_begin : static_cast<int64_t>(keys.size());
  }
};

// Immutable once made; safe to use from many threads at once.
class AttentionPattern {
 public:
  virtual ~AttentionPattern() = default;

  // Calls `visit` for tiles that cover each query of the text exactly once, in no special order. A
  // tile has at most `max_scores` scores a head, or else few rows.
  virtual void ForEachTile(const TextShape& text, int64_t max_scores,
                           const std::function<void(const PatternTile&)>& visit) const = 0;

  // The tokens that are global when the caller does not say, ascending.
  virtual std::vector<int64_t> DefaultGlobals(int64_t length) const {
    (void)length;
    return {};
  }
  // Whether a caller may choose global tokens.
  virtual bool accepts_globals() const { return false; }
};

using PatternOptions = std::map<std::string, std::string>;

// The pattern registered under `name`. Errors: UNIMPLEMENTED for an unknown name (the message lists
// those there are), INVALID_ARGUMENT for an option that is unknown, missing or out of range.
absl::StatusOr<std::shared_ptr<const AttentionPattern>> MakeAttentionPattern(
    absl::string_view name, const PatternOptions& options);

// Every registered name, in alphabetical order.
std::vector<std::string> AttentionPatternNames();

// Rows of a tile with `key_count` keys that keep it within `max_scores`; at least 16 (or all).
int64_t TileRows(int64_t row_count, int64_t key_count, int64_t max_scores);

}  // namespace heed
