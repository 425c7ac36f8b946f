// FIRE: a bias computed by a small network from the distance of two tokens, as a share of how far
// into the text they stand. For the score of query i and key j, head h adds
//   MLP_h(psi(|p_i - p_j|) / psi(max(L, p_i, p_j))), psi(x) = ln(c x + 1),
//   MLP(x) = W2 relu(W1 x + b1) + b2, with one hidden layer of W units and one output a head.
// Source: Li et al., "Functional Interpolation for Relative Positions Improves Long Context
// Transformers", 2023, arXiv:2310.04418, equations 7 to 9.
//
// The paper's models are causal, where j <= i: distance i - j over position i. Here the distance is
// symmetric and the later of the two positions normalises it, which is the paper's bias where
// j <= i and its mirror image elsewhere. Any position has a bias.
// The share is formed in float64 and rounded to float32, where the network computes, a bounded
// number of pairs at a time.
// Options: none. Weights: layers.N.positional.NAME, or positional.NAME for all layers, where NAME
// is
//   mlp.0.weight   [W, 1], W1
//   mlp.0.bias     [W], b1
//   mlp.2.weight   [H, W], W2
//   mlp.2.bias     [H], b2
//   c, L           [1] each, finite and > 0
// Similarity: the bias, [H, P, P].

#include <ATen/ops/addmm.h>
#include <ATen/ops/addr.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "model/positional/distance.h"
#include "model/positional/options.h"

namespace heed {
namespace {

// Hidden units that are computed at once, of all pairs together: 4 MiB of float32.
constexpr int64_t kMaxUnits = int64_t{1} << 20;

class Network {
 public:
  Network(at::Tensor w1, at::Tensor b1, at::Tensor w2, at::Tensor b2)
      : w1_(w1.squeeze(1)), b1_(b1.unsqueeze(1)), w2_(std::move(w2)), b2_(b2.unsqueeze(1)) {}

  // x: [r] float32. Returns [H, r].
  at::Tensor operator()(const at::Tensor& x) const {
    const int64_t count = x.size(0);
    const int64_t step = std::max<int64_t>(kMaxUnits / w1_.size(0), 1);
    at::Tensor y = at::empty({w2_.size(0), count}, x.options());
    for (int64_t first = 0; first < count; first += step) {
      const int64_t part = std::min(step, count - first);
      const at::Tensor hidden = at::addr(b1_, w1_, x.narrow(0, first, part)).relu_();
      y.narrow(1, first, part).copy_(at::addmm(b2_, w2_, hidden));
    }
    return y;
  }

 private:
  const at::Tensor w1_;  // [W]
  const at::Tensor b1_;  // [W, 1]
  const at::Tensor w2_;  // [H, W]
  const at::Tensor b2_;  // [H, 1]
};

// The bias of one layer.
class LayerBias {
 public:
  LayerBias(Network network, double c, double threshold)
      : network_(std::move(network)), c_(c), threshold_(threshold) {}

  // [H, m, n] float32.
  at::Tensor Of(const Tile& tile) const {
    const double least = std::log1p(c_ * threshold_);
    if (tile.contiguous && Last(tile.query_positions) <= threshold_ &&
        Last(tile.key_positions) <= threshold_) {
      return DistanceBias(tile, [&](const at::Tensor& distances) {
        return network_(Psi(distances.abs()).div_(least).to(at::kFloat));
      });
    }
    // psi grows with x, so the largest psi is that of the largest x.
    const at::Tensor queries = Psi(tile.query_positions).clamp_min_(least);
    const at::Tensor keys = Psi(tile.key_positions);
    const at::Tensor share =
        Psi(Distances(tile).abs_()).div_(queries.unsqueeze(1).maximum(keys)).to(at::kFloat);
    const at::Tensor bias = network_(share.flatten());
    return bias.view({bias.size(0), share.size(0), share.size(1)});
  }

 private:
  at::Tensor Psi(const at::Tensor& x) const { return (x.to(at::kDouble) * c_).log1p_(); }

  static double Last(const at::Tensor& run) { return static_cast<double>(run[-1].item<int64_t>()); }

  const Network network_;
  const double c_;
  const double threshold_;  // L
};

class Fire : public PositionalEncoding {
 public:
  explicit Fire(std::map<int64_t, LayerBias> layers) : layers_(std::move(layers)) {}

  std::optional<at::Tensor> ScoreBias(const Tile& tile) const override {
    const auto found = layers_.find(tile.layer);
    if (found == layers_.end()) return std::nullopt;
    return found->second.Of(tile);
  }

  std::optional<at::Tensor> Similarity(int64_t layer, const at::Tensor& positions) const override {
    std::optional<at::Tensor> bias = ScoreBias(PairsOf(layer, positions));
    if (bias.has_value()) bias = bias->to(at::kDouble);
    return bias;
  }

 private:
  const std::map<int64_t, LayerBias> layers_;
};

at::Tensor ReadSized(EncodingReader& reader, absl::string_view name, const LayerTensors& tensors,
                     int64_t layer, int64_t width) {
  at::Tensor tensor = TensorOf(tensors, layer);
  if (tensor.defined() && tensor.size(-1) != width) {
    reader.BadTensor(absl::StrCat("positional.", name),
                     absl::StrCat("of layer ", layer, " is for ", tensor.size(-1),
                                  " hidden units where mlp.0.weight has ", width));
  }
  return tensor;
}

double ReadPositive(EncodingReader& reader, absl::string_view name, const LayerTensors& tensors,
                    int64_t layer) {
  const at::Tensor tensor = TensorOf(tensors, layer);
  const double value = tensor.defined() ? tensor.item<double>() : 1;
  if (!(value > 0) || !std::isfinite(value)) {
    reader.BadTensor(absl::StrCat("positional.", name),
                     absl::StrCat("of layer ", layer, " is ", value, ", not finite and positive"));
  }
  return value;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PositionalEncoding>> Make_fire(const EncodingSpec& spec) {
  EncodingReader reader("fire", spec);
  const LayerTensors w1s = reader.LayerWeights("mlp.0.weight", {-1, 1});
  const LayerTensors b1s = reader.LayerWeights("mlp.0.bias", {-1});
  const LayerTensors w2s = reader.LayerWeights("mlp.2.weight", {spec.head_count, -1});
  const LayerTensors b2s = reader.LayerWeights("mlp.2.bias", {spec.head_count});
  const LayerTensors cs = reader.LayerWeights("c", {1});
  const LayerTensors thresholds = reader.LayerWeights("L", {1});
  std::map<int64_t, LayerBias> layers;
  for (const auto& [layer, w1] : w1s) {
    if (w1.size(0) == 0) reader.BadTensor("positional.mlp.0.weight", "has no hidden units");
    at::Tensor b1 = ReadSized(reader, "mlp.0.bias", b1s, layer, w1.size(0));
    at::Tensor w2 = ReadSized(reader, "mlp.2.weight", w2s, layer, w1.size(0));
    at::Tensor b2 = TensorOf(b2s, layer);
    const double c = ReadPositive(reader, "c", cs, layer);
    const double threshold = ReadPositive(reader, "L", thresholds, layer);
    if (!b1.defined() || !w2.defined() || !b2.defined()) continue;
    layers.try_emplace(layer, Network(w1, std::move(b1), std::move(w2), std::move(b2)), c,
                       threshold);
  }
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return std::make_unique<Fire>(std::move(layers));
}

}  // namespace heed
