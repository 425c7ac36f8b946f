// xPos: rotation by position, as in RoPE, with a length for each pair of dimensions that decays
// with the distance. Pair i of the d rotating dimensions turns by p theta_i, theta_i =
// base^(-2i/d); the query's is then scaled by zeta_i^((p - c) / scale_base) and the key's by the
// inverse, with zeta_i = (2i/d + gamma) / (1 + gamma) < 1. A score depends on the positions through
// p_q - p_k: each pair adds zeta_i^((p_q - p_k) / scale_base) times its rotated product. Source:
// Sun et al., "A Length-Extrapolatable Transformer", 2022, arXiv:2212.10554, section 2.
//
// The paper's models are causal, where the factor is at most 1; for a key after the query it is
// above 1, as the formula says. The offset c cancels in q·k; it is half the length of the text, so
// that neither factor grows with more than half of it.
// position_limit: the longest text whose factors stay within e^-40 … e^40 (32,695 positions by
// default). A score then carries at most e^80 = 6e34, and float32 has room for a q·k of 6,000.
// Angles and exponents are formed in float64. Options:
//   base         10000.
//   scale_base   512.
//   gamma        0.4.
//   layout       "interleaved": pairs (2i, 2i+1); "halves": pairs (i, i + d/2).
//   dims         How many dimensions of a head rotate, from the first: all.
// Weights: none.
// Similarity: the kernel of a query and key that are (1, 0) in every pair, [1, P, P]: the sum over
// i of zeta_i^((p_q - p_k) / scale_base) cos((p_q - p_k) theta_i), queries down and keys across.

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>

#include <cmath>

#include "model/positional/options.h"
#include "model/positional/rotary.h"

namespace heed {
namespace {

// The factors of the query and of the key are within e^-kMaxExponent … e^kMaxExponent.
constexpr double kMaxExponent = 40;

struct Settings {
  double base = 0;
  double scale_base = 0;
  double gamma = 0;
  bool interleaved = true;
  int64_t dims = 0;
};

// ln(zeta_i) / scale_base for every pair, [dims/2] float64.
at::Tensor Rates(const Settings& settings) {
  const at::Tensor pair = at::arange(settings.dims / 2, at::kDouble);
  const at::Tensor zeta =
      (pair * (2 / static_cast<double>(settings.dims)) + settings.gamma) / (1 + settings.gamma);
  return zeta.log() / settings.scale_base;
}

class Xpos : public PositionalEncoding {
 public:
  Xpos(const Settings& settings, int64_t rows, std::vector<int64_t> layers)
      : interleaved_(settings.interleaved),
        dims_(settings.dims),
        frequencies_(InverseFrequencies(settings.dims, settings.base)),
        rates_(Rates(settings)),
        angles_(frequencies_, 1, rows),
        layers_(std::move(layers)) {}

  void TransformQueryKey(int64_t layer, const TokenPositions& tokens,
                         QueryKeyValue& projections) const override {
    if (!ActsIn(layers_, layer)) return;
    const CosSin angles = angles_.At(tokens.positions);
    const at::Tensor centred =
        tokens.positions.to(at::kDouble) - tokens.lengths.to(at::kDouble) / 2;
    const at::Tensor factor = Angles(centred, rates_).exp_().to(at::kFloat);
    Rotate(projections.query.narrow(-1, 0, dims_), {angles.cos * factor, angles.sin * factor},
           interleaved_);
    Rotate(projections.key.narrow(-1, 0, dims_), {angles.cos / factor, angles.sin / factor},
           interleaved_);
  }

  int64_t position_limit() const override {
    const double steepest = -rates_[0].item<double>();
    return static_cast<int64_t>(2 * kMaxExponent / steepest);
  }

  std::optional<at::Tensor> Similarity(int64_t layer, const at::Tensor& positions) const override {
    if (!ActsIn(layers_, layer)) return std::nullopt;
    const at::Tensor places = positions.to(at::kDouble);
    const at::Tensor angles = Angles(places, frequencies_);
    const at::Tensor factor = Angles(places - places.mean(), rates_).exp_();
    const at::Tensor queries = at::cat({angles.cos() * factor, angles.sin() * factor}, 1);
    const at::Tensor keys = at::cat({angles.cos() / factor, angles.sin() / factor}, 1);
    return queries.matmul(keys.t()).unsqueeze(0);
  }

 private:
  const bool interleaved_;
  const int64_t dims_;
  const at::Tensor frequencies_;  // [dims/2] float64
  const at::Tensor rates_;        // [dims/2] float64, negative
  const CosSinTable angles_;
  const std::vector<int64_t> layers_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PositionalEncoding>> Make_xpos(const EncodingSpec& spec) {
  EncodingReader reader("xpos", spec);
  Settings settings;
  settings.base = reader.Number("base", 10000, 1, 1e12);
  settings.scale_base = reader.Number("scale_base", 512, 1, 1e9);
  settings.gamma = reader.Number("gamma", 0.4, 1e-6, 1e6);
  settings.interleaved = reader.Choice("layout", {"interleaved", "halves"}) == "interleaved";
  settings.dims = reader.Int("dims", spec.head_size, 2, spec.head_size);
  if (settings.dims % 2 != 0 || settings.dims < 2) {
    if (reader.Has("dims")) reader.Bad("dims", "is odd: dimensions rotate in pairs");
    reader.BadSize("head_size", spec.head_size, "is not even: dimensions rotate in pairs");
  }
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return std::make_unique<Xpos>(settings, ReadyRows(spec.max_positions), spec.layers);
}

}  // namespace heed
