// KERPLE, logarithmic variant: head h adds -r1(h) ln(1 + r2(h) |i - j|) to the score of query i for
// key j, with r1 and r2 trained and positive.
// Source: Chi et al., "KERPLE", 2022, arXiv:2205.09921, equation 3 (logarithmic kernel).
//
// The paper's language models are causal; the kernel itself is symmetric in i and j, and is used
// so. Options: none. Weights: layers.N.positional.r1 and .r2 [H], or positional.r1 and .r2 for all
// layers; all > 0. Similarity: the bias, [H, P, P].

#include "absl/strings/str_cat.h"
#include "model/positional/distance.h"
#include "model/positional/options.h"

namespace heed {
namespace {

class KerpleLog : public PositionalEncoding {
 public:
  KerpleLog(LayerTensors r1, LayerTensors r2) : r1_(std::move(r1)), r2_(std::move(r2)) {}

  std::optional<at::Tensor> ScoreBias(const Tile& tile) const override {
    const at::Tensor r1 = TensorOf(r1_, tile.layer);
    const at::Tensor r2 = TensorOf(r2_, tile.layer);
    if (!r1.defined() || !r2.defined()) return std::nullopt;
    return DistanceBias(tile, [&](const at::Tensor& distances) {
      const at::Tensor scaled = distances.abs().to(at::kFloat) * r2.unsqueeze(1);
      return scaled.log1p() * -r1.unsqueeze(1);
    });
  }

  std::optional<at::Tensor> Similarity(int64_t layer, const at::Tensor& positions) const override {
    std::optional<at::Tensor> bias = ScoreBias(PairsOf(layer, positions));
    if (bias.has_value()) bias = bias->to(at::kDouble);
    return bias;
  }

 private:
  const LayerTensors r1_;  // [H]
  const LayerTensors r2_;  // [H]
};

LayerTensors ReadPositive(EncodingReader& reader, absl::string_view name, int64_t heads) {
  LayerTensors tensors = reader.LayerWeights(name, {heads});
  for (const auto& [layer, tensor] : tensors) {
    if ((tensor > 0).all().item<bool>()) continue;
    reader.BadTensor(absl::StrCat("positional.", name),
                     absl::StrCat("of layer ", layer, " has a value that is not positive"));
  }
  return tensors;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PositionalEncoding>> Make_kerple_log(const EncodingSpec& spec) {
  EncodingReader reader("kerple_log", spec);
  LayerTensors r1 = ReadPositive(reader, "r1", spec.head_count);
  LayerTensors r2 = ReadPositive(reader, "r2", spec.head_count);
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return std::make_unique<KerpleLog>(std::move(r1), std::move(r2));
}

}  // namespace heed
