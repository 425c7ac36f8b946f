// Learned absolute positions: one trained vector a position, added to the token embedding.
// Source: Devlin et al., "BERT", NAACL 2019, arXiv:1810.04805, section 3 (figure 2).
//
// A position beyond the table has no vector: by default it is an error, never clamped or wrapped.
// Options:
//   offset       row of position 0 (RoBERTa's tables begin with rows that stand for no position);
//                default 0. Positions -offset … -1 are those rows.
//   beyond       "error", or "interpolate": the positions of a text longer than the table are
//                scaled to fit it, and a position between two rows is their linear mix (the linear
//                form of Chen et al., "Extending Context Window via Positional Interpolation",
//                2023, arXiv:2306.15595, section 2.3, applied to a table). Texts that fit are
//                untouched.
// Weights: positional.table [P, D].
// Similarity: dot products of the table's rows.

#include <ATen/ops/embedding.h>
#include <ATen/ops/where.h>

#include "model/positional/options.h"

namespace heed {
namespace {

class Learned : public PositionalEncoding {
 public:
  Learned(at::Tensor table, int64_t offset, bool interpolate)
      : table_(std::move(table)), offset_(offset), interpolate_(interpolate) {}

  at::Tensor AddToEmbeddings(at::Tensor x, const TokenPositions& tokens) const override {
    if (interpolate_ && (tokens.lengths > rows()).any().item<bool>()) {
      return x.add_(Interpolated(tokens.positions, tokens.lengths).to(at::kFloat));
    }
    return x.add_(at::embedding(table_, tokens.positions + offset_));
  }

  int64_t position_limit() const override { return interpolate_ ? 0 : rows(); }

  std::optional<at::Tensor> Similarity(int64_t /*layer*/,
                                       const at::Tensor& positions) const override {
    const at::Tensor lengths = (positions.max() + 1).expand_as(positions);
    const at::Tensor vectors = Interpolated(positions, lengths);
    return vectors.matmul(vectors.t()).unsqueeze(0);
  }

 private:
  int64_t rows() const { return table_.size(0) - offset_; }

  // The table at positions scaled by (rows-1)/(length-1) where the text is too long; [T, D]
  // float64.
  at::Tensor Interpolated(const at::Tensor& positions, const at::Tensor& lengths) const {
    const at::Tensor exact = positions.to(at::kDouble);
    const at::Tensor scaled =
        exact * static_cast<double>(rows() - 1) / (lengths - 1).clamp_min(1).to(at::kDouble);
    const at::Tensor place = at::where(lengths > rows(), scaled, exact) + offset_;
    const at::Tensor low = place.floor();
    const at::Tensor share = (place - low).unsqueeze(1);
    const at::Tensor row = low.to(at::kLong);
    const at::Tensor next = (row + 1).clamp_max(table_.size(0) - 1);
    return at::embedding(table_, row).to(at::kDouble) * (1 - share) +
           at::embedding(table_, next).to(at::kDouble) * share;
  }

  const at::Tensor table_;  // [P, D]
  const int64_t offset_;
  const bool interpolate_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PositionalEncoding>> Make_learned(const EncodingSpec& spec) {
  EncodingReader reader("learned", spec);
  at::Tensor table = reader.Weight("positional.table", {-1, spec.hidden_size});
  const int64_t rows = table.defined() ? table.size(0) : 1;
  const int64_t offset = reader.Int("offset", 0, 0, rows - 1);
  const bool interpolate = reader.Choice("beyond", {"error", "interpolate"}) == "interpolate";
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return std::make_unique<Learned>(std::move(table), offset, interpolate);
}

}  // namespace heed
