// XLNet's relative positions and segments. Score of query i for key j, times the scale:
// (q_i + r_w)·k_j + (q_i + r_r)·(R_{i-j} W^r) + (q_i + r_s)·s, where R is the sinusoid of the
// distance, sines then cosines over the width of the model, and s one of two trained vectors: the
// segments are the same, or they are not.
// Source: Dai et al., "Transformer-XL", 2019, arXiv:1901.02860, section 3.3, terms a to d;
// segments: Yang et al., "XLNet", 2019, arXiv:1906.08237, section 2.5.
//
// Directed by definition; any distance has a vector. Options:
//   clamp_len   0: none; else distances are clamped to -clamp_len … clamp_len.
// Weights, all for each layer N as layers.N.positional.NAME: r [D, H Dh] (from the sinusoid),
// r_w_bias, r_r_bias, r_s_bias [H, Dh], seg_embed [2, H, Dh].
// Similarity: the term without a query, r_r·(R_{i-j} W^r), [H, P, P].

#include <ATen/ops/_unique.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>

#include <limits>

#include "model/positional/distance.h"
#include "model/positional/options.h"
#include "model/positional/rotary.h"
#include "model/positional/row_scores.h"

namespace heed {
namespace {

struct XlnetLayer {
  at::Tensor r;              // [D, H Dh]
  at::Tensor r_w, r_r, r_s;  // [H, 1, Dh]
  at::Tensor same, other;    // [H, Dh, 1], of segments
  at::Tensor ready;          // [H, 2k+1, Dh]: projected sinusoids of -k … k
};

class XlnetRelative : public PositionalEncoding {
 public:
  XlnetRelative(const EncodingSpec& spec, std::map<int64_t, XlnetLayer> layers, int64_t clamp,
                int64_t ready)
      : frequencies_(InverseFrequencies(spec.hidden_size, 10000)),
        heads_(spec.head_count),
        head_size_(spec.head_size),
        clamp_(clamp > 0 ? clamp : std::numeric_limits<int64_t>::max() / 4),
        ready_(ready),
        layers_(std::move(layers)) {
    const at::Tensor distances = at::arange(-ready_, ready_ + 1, at::kLong);
    for (auto& [index, layer] : layers_) layer.ready = Vectors(layer, distances);
  }

  bool reads_content() const override { return true; }

  std::optional<at::Tensor> ContentScore(const Tile& tile) const override {
    const auto found = layers_.find(tile.layer);
    if (found == layers_.end()) return std::nullopt;
    const XlnetLayer& layer = found->second;
    const auto [vectors, index] = VectorsOf(layer, tile);
    at::Tensor score = RowScores(tile.query + layer.r_r, vectors, index);
    score += layer.r_w.matmul(tile.key.transpose(2, 3));  // [B, H, 1, n]
    const at::Tensor query = tile.query + layer.r_s;
    const at::Tensor same =
        tile.query_segments.unsqueeze(2).eq(tile.key_segments.unsqueeze(1)).unsqueeze(1);
    score += at::where(same, query.matmul(layer.same), query.matmul(layer.other));
    return score.mul_(tile.scale);
  }

  std::optional<at::Tensor> Similarity(int64_t layer, const at::Tensor& positions) const override {
    const auto found = layers_.find(layer);
    if (found == layers_.end()) return std::nullopt;
    const auto [vectors, index] = VectorsOf(found->second, PairsOf(layer, positions));
    const at::Tensor kernel = vectors.matmul(found->second.r_r.transpose(1, 2)).squeeze(2);
    return kernel.index_select(1, index.flatten())
        .view({heads_, index.size(0), index.size(1)})
        .to(at::kDouble);
  }

 private:
  struct Rows {
    at::Tensor vectors;  // [H, R, Dh]
    at::Tensor index;    // [m, n]: each pair's row
  };

  // The projected sinusoids of those distances, [H, R, Dh].
  at::Tensor Vectors(const XlnetLayer& layer, const at::Tensor& distances) const {
    const at::Tensor angles = Angles(distances, frequencies_);
    const at::Tensor sinusoids = at::cat({angles.sin(), angles.cos()}, 1).to(at::kFloat);
    return sinusoids.matmul(layer.r).view({-1, heads_, head_size_}).transpose(0, 1).contiguous();
  }

  Rows VectorsOf(const XlnetLayer& layer, const Tile& tile) const {
    const at::Tensor distances = (-Distances(tile)).clamp(-clamp_, clamp_);
    if (distances.abs().max().item<int64_t>() <= ready_) return {layer.ready, distances + ready_};
    const auto [occurring, index] =
        at::_unique(distances, /*sorted=*/true, /*return_inverse=*/true);
    return {Vectors(layer, occurring), index};
  }

  const at::Tensor frequencies_;  // [D/2] float64
  const int64_t heads_;
  const int64_t head_size_;
  const int64_t clamp_;
  const int64_t ready_;
  std::map<int64_t, XlnetLayer> layers_;  // not changed after the constructor
};

}  // namespace

absl::StatusOr<std::unique_ptr<PositionalEncoding>> Make_xlnet_relative(const EncodingSpec& spec) {
  EncodingReader reader("xlnet_relative", spec);
  const int64_t clamp = reader.Int("clamp_len", 0, 0, int64_t{1} << 30);
  if (spec.hidden_size % 2 != 0) {
    reader.BadSize("hidden_size", spec.hidden_size, "is odd: sines and cosines come in pairs");
  }
  const std::vector<int64_t> by_head = {spec.head_count, spec.head_size};
  const LayerTensors r =
      reader.LayerWeights("r", {spec.hidden_size, spec.head_count * spec.head_size});
  const LayerTensors r_w = reader.LayerWeights("r_w_bias", by_head);
  const LayerTensors r_r = reader.LayerWeights("r_r_bias", by_head);
  const LayerTensors r_s = reader.LayerWeights("r_s_bias", by_head);
  const LayerTensors segments =
      reader.LayerWeights("seg_embed", {2, spec.head_count, spec.head_size});
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  std::map<int64_t, XlnetLayer> layers;
  for (const int64_t i : LayersOf(spec)) {
    const at::Tensor& segment = segments.at(i);
    layers[i] = {r.at(i),
                 r_w.at(i).unsqueeze(1),
                 r_r.at(i).unsqueeze(1),
                 r_s.at(i).unsqueeze(1),
                 segment.select(0, 0).unsqueeze(2),
                 segment.select(0, 1).unsqueeze(2),
                 {}};
  }
  // Distances of texts up to this long need no product at run time.
  constexpr int64_t kReady = 512;
  const int64_t ready = clamp > 0 ? std::min(clamp, kReady) : kReady;
  return std::make_unique<XlnetRelative>(spec, std::move(layers), clamp, ready);
}

}  // namespace heed
