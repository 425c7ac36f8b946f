// T5's relative bias: one trained scalar per head and bucket of the distance j - i, added to the
// score of query i for key j.
// Source: Raffel et al., "Exploring the Limits of Transfer Learning", 2020, arXiv:1910.10683,
// section 2.1.
//
// Bidirectional buckets, as in the encoder: keys before and after the query have buckets of their
// own. T5 itself does not divide q·k by sqrt(Dh); that is the model's matter, not this file's.
// Options:
//   num_buckets   32: an even number, at least 4.
//   max_distance  128: from here on all distances share the last bucket of their side.
// Weights: layers.N.positional.bias [num_buckets, H], or positional.bias for all layers.
// Similarity: the bias, [H, P, P].

#include "model/positional/buckets.h"
#include "model/positional/distance.h"
#include "model/positional/options.h"

namespace heed {
namespace {

class T5Bias : public PositionalEncoding {
 public:
  T5Bias(LayerTensors tables, int64_t bucket_count, int64_t max_distance)
      : tables_(std::move(tables)), bucket_count_(bucket_count), max_distance_(max_distance) {}

  std::optional<at::Tensor> ScoreBias(const Tile& tile) const override {
    const at::Tensor table = TensorOf(tables_, tile.layer);
    if (!table.defined()) return std::nullopt;
    return T5BucketBias(tile, table, bucket_count_, max_distance_);
  }

  std::optional<at::Tensor> Similarity(int64_t layer, const at::Tensor& positions) const override {
    std::optional<at::Tensor> bias = ScoreBias(PairsOf(layer, positions));
    if (bias.has_value()) bias = bias->to(at::kDouble);
    return bias;
  }

 private:
  const LayerTensors tables_;  // [H, num_buckets]
  const int64_t bucket_count_;
  const int64_t max_distance_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PositionalEncoding>> Make_t5_bias(const EncodingSpec& spec) {
  EncodingReader reader("t5_bias", spec);
  const int64_t bucket_count = reader.Int("num_buckets", 32, 4, 1 << 20);
  if (bucket_count % 2 != 0) reader.Bad("num_buckets", "is odd: each side has half of them");
  const int64_t max_distance = reader.Int("max_distance", 128, 2, int64_t{1} << 40);
  if (max_distance <= bucket_count / 4) {
    reader.Bad("max_distance", "is not beyond the distances that have a bucket each");
  }
  LayerTensors tables = reader.LayerWeights("bias", {bucket_count, spec.head_count});
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  for (auto& [layer, table] : tables) table = table.t().contiguous();
  return std::make_unique<T5Bias>(std::move(tables), bucket_count, max_distance);
}

}  // namespace heed
