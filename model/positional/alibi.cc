// ALiBi for encoders: head h lowers the score of query i for key j by slope(h) * |i - j|.
// Source: Press, Smith and Lewis, "Train Short, Test Long", 2022, arXiv:2108.12409, section 3.
//
// The slopes of H heads are 2^(-8/H), 2^(-16/H), … 2^-8 where H is a power of two; otherwise those
// of the next lower power of two c, followed by every other slope of 2c heads.
// The paper is causal, with j <= i; distance is symmetric here, as in JinaBERT (arXiv:2310.19923).
// Options: none. Weights: none.
// Similarity: the bias, [H, P, P].

#include <ATen/ops/tensor.h>

#include <cmath>

#include "model/positional/distance.h"
#include "model/positional/options.h"

namespace heed {
namespace {

class Alibi : public PositionalEncoding {
 public:
  Alibi(at::Tensor slopes, std::vector<int64_t> layers)
      : slopes_(std::move(slopes)), layers_(std::move(layers)) {}

  std::optional<at::Tensor> ScoreBias(const Tile& tile) const override {
    if (!ActsIn(layers_, tile.layer)) return std::nullopt;
    return DistanceBias(tile, [&](const at::Tensor& distances) {
      return distances.abs().to(at::kFloat) * -slopes_.to(distances.device());
    });
  }

  std::optional<at::Tensor> Similarity(int64_t layer, const at::Tensor& positions) const override {
    std::optional<at::Tensor> bias = ScoreBias(PairsOf(layer, positions));
    if (bias.has_value()) bias = bias->to(at::kDouble);
    return bias;
  }

 private:
  const at::Tensor slopes_;  // [H, 1]
  const std::vector<int64_t> layers_;
};

void AppendSlopes(int64_t heads, int64_t first, int64_t step, int64_t count,
                  std::vector<float>& slopes) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = first + i * step;
    slopes.push_back(static_cast<float>(
        std::exp2(-8.0 * static_cast<double>(place) / static_cast<double>(heads))));
  }
}

std::vector<float> Slopes(int64_t heads) {
  int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<float> slopes;
  AppendSlopes(power, 1, 1, power, slopes);
  AppendSlopes(2 * power, 1, 2, heads - power, slopes);
  return slopes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PositionalEncoding>> Make_alibi(const EncodingSpec& spec) {
  EncodingReader reader("alibi", spec);
  if (spec.head_count < 1) reader.BadSize("head_count", spec.head_count, "is not positive");
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return std::make_unique<Alibi>(at::tensor(Slopes(spec.head_count)).unsqueeze(1), spec.layers);
}

}  // namespace heed
