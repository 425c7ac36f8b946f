// Rotary positions: pairs of dimensions of queries and keys are turned by angles proportional to
// the position, so that q·k depends on the distance. y_a = x_a cos(p θ_i) - x_b sin(p θ_i),
// y_b = x_b cos(p θ_i) + x_a sin(p θ_i), with θ_i = base^(-2i/d).
// Source: Su et al., "RoFormer", 2021, arXiv:2104.09864, equations 15 and 34; of the scalings, see
// rope_frequencies.h.
//
// Any position can be encoded. Angles are formed in float64. Options:
//   base           10000.
//   layout         "halves": pairs (i, i + d/2), as in GPT-NeoX and after; "interleaved": pairs
//                  (2i, 2i+1), as in the paper.
//   dims           d, how many of a head's dimensions turn, from the first; all by default. Even.
//   rotate_value   false; true turns the values too.
//   scaling        "none", "linear", "dynamic", "yarn" or "llama3", each but the first with:
//     factor                  how many times longer texts may be.
//     original_max_positions  (not linear) the longest input before; the model's by default.
//     beta_fast, beta_slow, truncate, ramp ("dimension" or "rotations"), attention_factor, mscale
//     and mscale_all_dim (yarn), low_freq_factor and high_freq_factor (llama3): see
//     rope_frequencies.h. attention_factor multiplies cosines and sines; by default it is
//     mscale(factor) / mscale_all_dim(factor) where both are given, else 0.1 ln(factor) + 1.
// Weights: optionally positional.sin_cos_table [rows, d], sines then cosines of each position, in
// the place of base (RoFormer's checkpoints hold one); the limit is then its rows.
// Similarity: [1, P, P], the sum over i of cos((p - p') θ_i) times attention_factor squared: q·k
// where all components of q and k are alike.

#include <ATen/ops/embedding.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "model/positional/options.h"
#include "model/positional/rope_frequencies.h"
#include "model/positional/rotary.h"

namespace heed {
namespace {

struct RopeSettings {
  std::vector<int64_t> layers;
  int64_t dims = 0;
  double base = 10000;
  bool interleaved = false;
  bool rotate_value = false;
  double attention_factor = 1;
  RopeScaling scaling;
  at::Tensor table;  // [rows, dims] or undefined
  int64_t ready_rows = 0;
};

class Rope : public PositionalEncoding {
 public:
  explicit Rope(RopeSettings settings)
      : settings_(std::move(settings)),
        frequencies_(RopeFrequencies(settings_.dims, settings_.base, settings_.scaling)),
        angles_(frequencies_, settings_.attention_factor, settings_.ready_rows) {}

  void TransformQueryKey(int64_t layer, const TokenPositions& tokens,
                         QueryKeyValue& projections) const override {
    if (!ActsIn(settings_.layers, layer)) return;
    const CosSin angles = AnglesOf(tokens);
    const auto turn = [&](const at::Tensor& x) {
      Rotate(x.narrow(-1, 0, settings_.dims), angles, settings_.interleaved);
    };
    turn(projections.query);
    turn(projections.key);
    if (settings_.rotate_value) turn(projections.value);
  }

  int64_t position_limit() const override {
    return settings_.table.defined() ? settings_.table.size(0) : 0;
  }

  std::optional<at::Tensor> Similarity(int64_t layer, const at::Tensor& positions) const override {
    if (!ActsIn(settings_.layers, layer)) return std::nullopt;
    const int64_t half = settings_.dims / 2;
    at::Tensor cos;
    at::Tensor sin;
    if (settings_.table.defined()) {
      const at::Tensor rows = at::embedding(settings_.table, positions).to(at::kDouble);
      sin = rows.narrow(1, 0, half);
      cos = rows.narrow(1, half, half);
    } else {
      at::Tensor angles = Angles(positions, frequencies_);
      if (settings_.scaling.kind == "dynamic" && positions.numel() > 0) {
        const at::Tensor length = positions.max().unsqueeze(0) + 1;
        angles = Angles(positions, Dynamic(length).squeeze(0));
      }
      cos = angles.cos() * settings_.attention_factor;
      sin = angles.sin() * settings_.attention_factor;
    }
    return (cos.matmul(cos.t()) + sin.matmul(sin.t())).unsqueeze(0);
  }

 private:
  CosSin AnglesOf(const TokenPositions& tokens) const {
    if (settings_.table.defined()) {
      const at::Tensor rows = at::embedding(settings_.table, tokens.positions);
      const int64_t half = settings_.dims / 2;
      return {rows.narrow(1, half, half), rows.narrow(1, 0, half)};
    }
    if (settings_.scaling.kind == "dynamic" && tokens.lengths.numel() > 0 &&
        static_cast<double>(tokens.lengths.max().item<int64_t>()) >
            settings_.scaling.original_positions) {
      const at::Tensor angles =
          tokens.positions.to(at::kDouble).unsqueeze(1) * Dynamic(tokens.lengths);
      return {angles.cos().to(at::kFloat), angles.sin().to(at::kFloat)};
    }
    return angles_.At(tokens.positions);
  }

  at::Tensor Dynamic(const at::Tensor& lengths) const {
    return DynamicFrequencies(lengths, settings_.dims, settings_.base, settings_.scaling);
  }

  const RopeSettings settings_;
  const at::Tensor frequencies_;  // [dims/2] float64
  const CosSinTable angles_;
};

constexpr double kMost = 1e9;

void ReadYarn(EncodingReader& reader, RopeSettings& settings) {
  RopeScaling& scaling = settings.scaling;
  scaling.beta_fast = reader.Number("beta_fast", 32, 1e-6, kMost);
  scaling.beta_slow = reader.Number("beta_slow", 1, 1e-6, kMost);
  if (scaling.beta_fast <= scaling.beta_slow) reader.Bad("beta_fast", "is not above beta_slow");
  scaling.truncate = reader.Bool("truncate", true);
  scaling.ramp_over_rotations = reader.Choice("ramp", {"dimension", "rotations"}) == "rotations";
  // 0 counts as not given, as in transformers.
  const double mscale = reader.Number("mscale", 0, 0, kMost);
  const double mscale_all_dim = reader.Number("mscale_all_dim", 0, 0, kMost);
  settings.attention_factor =
      mscale > 0 && mscale_all_dim > 0
          ? YarnMscale(scaling.factor, mscale) / YarnMscale(scaling.factor, mscale_all_dim)
          : YarnMscale(scaling.factor, 1);
  if (reader.Has("attention_factor")) {
    settings.attention_factor = reader.Number("attention_factor", 1, 1e-6, kMost);
  }
}

void ReadLlama3(EncodingReader& reader, RopeScaling& scaling) {
  scaling.low_freq_factor = reader.Number("low_freq_factor", 1, 1e-6, kMost);
  scaling.high_freq_factor = reader.Number("high_freq_factor", 4, 1e-6, kMost);
  if (scaling.high_freq_factor <= scaling.low_freq_factor) {
    reader.Bad("high_freq_factor", "is not above low_freq_factor");
  }
}

void ReadScaling(EncodingReader& reader, const EncodingSpec& spec, RopeSettings& settings) {
  RopeScaling& scaling = settings.scaling;
  scaling.kind = reader.Choice("scaling", {"none", "linear", "dynamic", "yarn", "llama3"});
  if (scaling.kind == "none") return;
  if (!reader.Has("factor")) reader.Bad("scaling", "needs the option \"factor\"");
  scaling.factor = reader.Number("factor", 1, 1e-3, kMost);
  if (scaling.kind == "linear") return;
  if (reader.Has("original_max_positions")) {
    scaling.original_positions = reader.Number("original_max_positions", 1, 1, kMost);
  } else if (spec.max_positions > 0) {
    scaling.original_positions = static_cast<double>(spec.max_positions);
  } else {
    reader.Bad("scaling", "needs the option \"original_max_positions\"");
  }
  if (scaling.kind == "yarn") ReadYarn(reader, settings);
  if (scaling.kind == "llama3") ReadLlama3(reader, scaling);
  if (scaling.kind == "dynamic") {
    if (scaling.factor < 1) reader.Bad("factor", "must be 1 or more for dynamic scaling");
    if (settings.dims <= 2) {
      reader.Bad("dims",
                 "must be above 2 for dynamic scaling, whose exponent is dims / (dims - 2)");
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<PositionalEncoding>> Make_rope(const EncodingSpec& spec) {
  EncodingReader reader("rope", spec);
  RopeSettings settings;
  settings.layers = spec.layers;
  settings.base = reader.Number("base", 10000, 1.0001, 1e15);
  settings.interleaved = reader.Choice("layout", {"halves", "interleaved"}) == "interleaved";
  settings.dims = reader.Int("dims", spec.head_size, 2, spec.head_size);
  if (settings.dims % 2 != 0) {
    if (reader.Has("dims")) {
      reader.Bad("dims", "is odd: dimensions turn in pairs");
    } else {
      reader.BadSize("head size", spec.head_size, "is odd: dimensions turn in pairs");
    }
  }
  settings.rotate_value = reader.Bool("rotate_value", false);
  ReadScaling(reader, spec, settings);
  settings.ready_rows = ReadyRows(spec.max_positions);
  settings.table = reader.OptionalWeight("positional.sin_cos_table", {-1, settings.dims});
  if (settings.table.defined() && settings.scaling.kind != "none") {
    reader.Bad("scaling", "does not go with a table of sines and cosines in the checkpoint");
  }
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return std::make_unique<Rope>(std::move(settings));
}

}  // namespace heed
