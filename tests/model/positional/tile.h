// What the tests of positional encodings share: tiles, specs and the reference values in
// tests/golden/pe.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/checkpoint/safetensors.h"
#include "model/positional/encoding.h"

namespace heed {

using Weights = std::map<std::string, at::Tensor, std::less<>>;
using Options = std::map<std::string, std::string>;

// A model of `layers` layers with heads of `head_size`.
inline EncodingSpec MakeSpec(int64_t heads, int64_t head_size, const Weights& weights = {},
                             const Options& options = {}, int64_t layers = 1) {
  EncodingSpec spec;
  spec.hidden_size = heads * head_size;
  spec.head_count = heads;
  spec.head_size = head_size;
  spec.layer_count = layers;
  spec.options = options;
  spec.weight = [weights](absl::string_view role) -> std::optional<at::Tensor> {
    const auto found = weights.find(std::string(role));
    if (found == weights.end()) return std::nullopt;
    return found->second;
  };
  return spec;
}

// The encoding; throws when it cannot be made.
inline std::unique_ptr<PositionalEncoding> Make(const std::string& name, const EncodingSpec& spec) {
  auto encoding = MakePositionalEncoding(name, spec);
  if (!encoding.ok()) throw std::runtime_error(std::string(encoding.status().message()));
  return *std::move(encoding);
}

inline std::string ErrorOf(const std::string& name, const EncodingSpec& spec) {
  return std::string(MakePositionalEncoding(name, spec).status().message());
}

inline at::Tensor Ints(const std::vector<int64_t>& values) { return at::tensor(values, at::kLong); }

inline bool IsRun(const std::vector<int64_t>& positions) {
  for (size_t i = 1; i < positions.size(); ++i) {
    if (positions[i] != positions[i - 1] + 1) return false;
  }
  return true;
}

// A tile without content; the tokens' places in the text are 0, 1, 2, …
inline Tile MakeTile(const std::vector<int64_t>& query_positions,
                     const std::vector<int64_t>& key_positions, int64_t layer = 0) {
  Tile tile;
  tile.layer = layer;
  tile.query_positions = Ints(query_positions);
  tile.key_positions = Ints(key_positions);
  tile.contiguous = IsRun(query_positions) && IsRun(key_positions);
  tile.query_indices = at::arange(tile.query_positions.size(0), at::kLong);
  tile.key_indices = at::arange(tile.key_positions.size(0), at::kLong);
  tile.length = std::max(tile.query_positions.max().item<int64_t>(),
                         tile.key_positions.max().item<int64_t>()) +
                1;
  return tile;
}

inline std::vector<int64_t> Span(int64_t first, int64_t count) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < count; ++i) positions.push_back(first + i);
  return positions;
}

// Gives a tile random queries and keys of `texts` texts, and segments of 0 and 1.
inline void AddContent(Tile& tile, int64_t texts, int64_t heads, int64_t head_size) {
  const int64_t m = tile.query_positions.size(0);
  const int64_t n = tile.key_positions.size(0);
  tile.scale = 0.25;
  tile.query = at::randn({texts, heads, m, head_size});
  tile.key = at::randn({texts, heads, n, head_size});
  tile.query_segments = at::randint(0, 2, {texts, m}, at::kLong);
  tile.key_segments = at::randint(0, 2, {texts, n}, at::kLong);
}

// Tiles that every relative encoding has to get right: a whole text, a piece from the middle of
// one, rows with keys far away, and positions of any kind in any order.
inline std::vector<Tile> ManyTiles() {
  return {MakeTile(Span(0, 9), Span(0, 9)),
          MakeTile(Span(5, 4), Span(0, 12)),
          MakeTile(Span(200, 3), Span(2, 6)),
          MakeTile(Span(0, 1), Span(0, 1)),
          MakeTile({7, 0, 100000, 3}, {3, 100003, 2, 7, 40}),
          MakeTile(Span(3, 5), {9, 1, 4})};
}

inline double LargestError(const at::Tensor& actual, const at::Tensor& expected) {
  if (actual.sizes() != expected.sizes()) throw std::runtime_error("shapes differ");
  if (actual.numel() == 0) throw std::runtime_error("nothing to compare");
  const at::Tensor error = (actual.to(at::kDouble) - expected.to(at::kDouble)).abs();
  // A NaN must not pass for a small number.
  return error.isnan().any().item<bool>() ? 1e300 : error.max().item<double>();
}

// A file of tests/golden/pe.
class Reference {
 public:
  explicit Reference(const std::string& name)
      : file_(*SafetensorsFile::Open("tests/golden/pe/" + name + ".safetensors")) {}

  at::Tensor operator[](const std::string& name) const {
    const TensorView* const view = file_->Find(name);
    if (view == nullptr) throw std::runtime_error("no reference tensor " + name);
    const at::ScalarType type = view->dtype == DType::kF64 ? at::kDouble : at::kLong;
    const at::Tensor tensor = at::empty(view->shape, type);
    std::memcpy(tensor.data_ptr(), view->data.data(), view->data.size());
    return tensor;
  }

 private:
  std::shared_ptr<const SafetensorsFile> file_;
};

}  // namespace heed
