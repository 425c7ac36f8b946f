// A positional encoding tells self-attention where each token stands; without one an encoder cannot
// tell word orders apart. One variant is one file, picked by the name in the model's configuration.
//
// A variant acts through the hooks below; a hook that is not overridden changes nothing. Objects
// are immutable once made: hooks are const and safe to call from many threads at once. Whatever a
// hook says of positions is in float32 or better.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace heed {

// Where the T tokens of a ragged batch stand.
struct TokenPositions {
  // [T] int64. By default 0..n-1 in each text; a caller may give others, in any order.
  at::Tensor positions;
  // [T] int64: how long the token's text is, for rules that depend on it: the larger of its context
  // length and its largest position + 1.
  at::Tensor lengths;
  // [T] bool, or undefined: tokens of texts that are computed without positions. Encodings need not
  // look: what they make of such tokens is put aside.
  at::Tensor disabled;
};

// The projections of one layer, float32: query [T, H, Dh], key and value [T, Hkv, Dh], where each
// key/value head serves H / Hkv query heads.
struct QueryKeyValue {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
};

// One piece of the score matrix: m queries of a text against all n keys that they may see, or the
// same piece of B texts that have their positions in common. Rows and columns are in the order of
// the text.
struct Tile {
  int64_t layer = 0;
  // What q·k is multiplied with before the softmax, usually 1/sqrt(Dh).
  double scale = 1;
  // As TokenPositions::lengths.
  int64_t length = 0;
  at::Tensor query_positions;  // [m] int64
  at::Tensor key_positions;    // [n] int64
  // Both positions are runs p, p+1, p+2, …: every diagonal of the tile is one distance.
  bool contiguous = false;
  at::Tensor query_indices;   // [m] int64: place in the text, whatever the positions
  at::Tensor key_indices;     // [n] int64, ascending
  at::Tensor query_segments;  // [B, m] int64
  at::Tensor key_segments;    // [B, n] int64
  // [m, n] bool: which keys each query may see; undefined: all.
  at::Tensor visible;
  // After TransformQueryKey, float32: [B, H, m, Dh] and [B, H, n, Dh].
  at::Tensor query;
  at::Tensor key;
};

class PositionalEncoding {
 public:
  virtual ~PositionalEncoding() = default;

  // 1. Added to the token embeddings, before the first norm and layer. x: [T, D] float32, may be
  // changed in place. Returns [T, D].
  virtual at::Tensor AddToEmbeddings(at::Tensor x, const TokenPositions& tokens) const {
    (void)tokens;
    return x;
  }

  // 2. Rotates or scales a layer's queries and keys (and values, where the variant says so), in
  // place or by new tensors of the same shapes.
  virtual void TransformQueryKey(int64_t layer, const TokenPositions& tokens,
                                 QueryKeyValue& projections) const {
    (void)layer, (void)tokens, (void)projections;
  }

  // 3. Content-free bias added to the scaled scores, in nats: -1 divides a weight by e. May not
  // read tile.query and tile.key. Returns [H, m, n] (or [1, m, n]: the same for all heads) float32;
  // nullopt: none.
  virtual std::optional<at::Tensor> ScoreBias(const Tile& tile) const {
    (void)tile;
    return std::nullopt;
  }

  // 4. Content-dependent term added to the scaled scores, in nats (a term of the paper that stands
  // beside q·k before the division carries tile.scale itself). Returns [B, H, m, n] float32;
  // nullopt: none.
  virtual std::optional<at::Tensor> ContentScore(const Tile& tile) const {
    (void)tile;
    return std::nullopt;
  }

  // 5. Added to the context. weights: [B, H, m, n], after the softmax. Returns [B, H, m, Dh];
  // nullopt: none.
  virtual std::optional<at::Tensor> ValueTerm(const Tile& tile, const at::Tensor& weights) const {
    (void)tile, (void)weights;
    return std::nullopt;
  }

  // Whether ContentScore reads tile.query and tile.key, so that it needs those of every head.
  virtual bool reads_content() const { return false; }

  // Positions 0 … limit-1 can be encoded; 0: any position can.
  virtual int64_t position_limit() const { return 0; }

  // How alike the encoding makes each pair of positions: [G, P, P] float64, G = 1 or the number of
  // heads. PE·PEᵀ where positions are vectors, else the relative kernel as a matrix, with content
  // left out; each variant says which in its own file. nullopt: there is no such thing without
  // content. positions: [P] int64.
  virtual std::optional<at::Tensor> Similarity(int64_t layer, const at::Tensor& positions) const {
    (void)layer, (void)positions;
    return std::nullopt;
  }
};

// What a variant is made from.
struct EncodingSpec {
  int64_t hidden_size = 0;
  int64_t head_count = 0;
  int64_t head_size = 0;
  int64_t layer_count = 0;
  // The layers it acts in; empty: all.
  std::vector<int64_t> layers;
  // The longest input the model was made for, in positions; 0: not stated.
  int64_t max_positions = 0;
  // The variant's own settings; a variant refuses one it does not know, by name.
  std::map<std::string, std::string> options;
  // The model's tensor of that role, float32, or nothing. Roles are "positional.NAME" for the whole
  // model and "layers.N.positional.NAME" for one layer.
  std::function<std::optional<at::Tensor>(absl::string_view role)> weight;
};

using EncodingFactory =
    std::function<absl::StatusOr<std::unique_ptr<PositionalEncoding>>(const EncodingSpec&)>;

// The variant registered under `name`. Errors: UNIMPLEMENTED for an unknown name (the message lists
// those there are), otherwise what the variant says of its options or weights.
absl::StatusOr<std::unique_ptr<PositionalEncoding>> MakePositionalEncoding(
    absl::string_view name, const EncodingSpec& spec);

// Every registered name, in alphabetical order.
std::vector<std::string> PositionalEncodingNames();

}  // namespace heed
