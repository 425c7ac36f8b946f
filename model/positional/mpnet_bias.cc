// MPNet's relative bias: T5's, with 32 buckets up to distance 128 whatever the configuration says,
// in one table for all layers.
// Source: Song et al., "MPNet", 2020, arXiv:2004.09297, which takes it from T5 (arXiv:1910.10683,
// section 2.1). The authors' code fixes both numbers; rows of the table beyond 32 are never read.
//
// MPNet has absolute positions besides: those are the encoding "learned".
// Options: none.
// Weights: positional.bias [R, H] with R >= 32.
// Similarity: the bias, [H, P, P].

#include "absl/strings/str_cat.h"
#include "model/positional/buckets.h"
#include "model/positional/distance.h"
#include "model/positional/options.h"

namespace heed {
namespace {

constexpr int64_t kBucketCount = 32;
constexpr int64_t kMaxDistance = 128;

class MpnetBias : public PositionalEncoding {
 public:
  MpnetBias(at::Tensor table, std::vector<int64_t> layers)
      : table_(std::move(table)), layers_(std::move(layers)) {}

  std::optional<at::Tensor> ScoreBias(const Tile& tile) const override {
    if (!ActsIn(layers_, tile.layer)) return std::nullopt;
    return T5BucketBias(tile, table_, kBucketCount, kMaxDistance);
  }

  std::optional<at::Tensor> Similarity(int64_t layer, const at::Tensor& positions) const override {
    std::optional<at::Tensor> bias = ScoreBias(PairsOf(layer, positions));
    if (bias.has_value()) bias = bias->to(at::kDouble);
    return bias;
  }

 private:
  const at::Tensor table_;  // [H, R]
  const std::vector<int64_t> layers_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PositionalEncoding>> Make_mpnet_bias(const EncodingSpec& spec) {
  EncodingReader reader("mpnet_bias", spec);
  at::Tensor table = reader.Weight("positional.bias", {-1, spec.head_count});
  if (table.defined() && table.size(0) < kBucketCount) {
    reader.BadTensor("positional.bias",
                     absl::StrCat("has ", table.size(0), " rows; it needs ", kBucketCount));
  }
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return std::make_unique<MpnetBias>(table.t().contiguous(), spec.layers);
}

}  // namespace heed
