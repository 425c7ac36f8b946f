// The score matrix of texts of one shape, one tile at a time: what the forward pass and whoever
// reads attention later have in common.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "model/attention/pattern.h"
#include "model/positional/encoding.h"

namespace heed {

// How one layer attends.
struct AttentionSettings {
  int64_t layer = 0;
  double scale = 1;  // of q·k, usually 1/sqrt(Dh)
  std::shared_ptr<const AttentionPattern> pattern;
  // Those that act in this layer.
  std::vector<std::shared_ptr<const PositionalEncoding>> encodings;
};

// B texts of n tokens that have their positions and masks in common.
struct TextTensors {
  TextShape shape;
  at::Tensor query, key;                // [B, H, m, Dh] from row query_begin on; [B, H, n, Dh]
  at::Tensor global_query, global_key;  // of global queries; undefined: as the others
  int64_t query_begin = 0;
  // The heads that query and key hold, where they are not all: [H'] int64.
  at::Tensor heads;
  at::Tensor positions;       // [n] int64
  at::Tensor indices;         // [n] int64: 0 … n-1
  at::Tensor segments;        // [B, n] int64
  at::Tensor key_mask;        // [n] bool; undefined: every key is seen
  int64_t rule_length = 0;    // Tile::length
  bool contiguous = false;    // positions are a run
  bool has_positions = true;  // false: positional encodings have no say
};

// The keys of a tile, as an index into tensors.
struct TileKeys {
  at::Tensor index;  // [n] int64; undefined: one run
  int64_t begin = 0;
  int64_t count = 0;

  explicit TileKeys(const PatternTile& part);
  // x's entries of these keys along `dim`.
  at::Tensor Of(const at::Tensor& x, int64_t dim) const;
};

// The tile as the encodings see it.
Tile MakeTile(const AttentionSettings& settings, const TextTensors& text, const PatternTile& part,
              const TileKeys& keys);

// Scores before the softmax, [B, H, m, n]; -inf where a query may not see a key.
at::Tensor TileScores(const AttentionSettings& settings, const TextTensors& text,
                      const PatternTile& part, const Tile& tile);

// Weights from scores; a row that sees nothing is zeros. Takes the scores' memory where it can.
at::Tensor TileWeights(const Tile& tile, const at::Tensor& scores);

// Rows begin … end-1 of a tile, which has them.
PatternTile NarrowRows(const PatternTile& part, int64_t begin, int64_t end);

// Whether an encoding reads queries and keys, so that they must be whole.
bool ReadsContent(const AttentionSettings& settings);

}  // namespace heed
