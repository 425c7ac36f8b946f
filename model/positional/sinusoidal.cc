// Sinusoidal absolute positions: sines and cosines of geometrically spaced frequencies, added to
// the token embedding. PE[p, 2i] = sin(p / base^(2i/D)), PE[p, 2i+1] = cos of the same.
// Source: Vaswani et al., "Attention Is All You Need", 2017, arXiv:1706.03762, section 3.5.
//
// Any position has a vector. Angles are formed in float64 and the vectors rounded to float32.
// Options:
//   base         10000.
//   layout       "interleaved", as in the paper, or "halves": all sines, then all cosines.
// Weights: none.
// Similarity: PE·PEᵀ, [1, P, P]: the sum over i of cos((p - p') / base^(2i/D)), so it depends on
// the distance only and is largest (D / 2) where that is 0.

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/stack.h>

#include "model/positional/options.h"
#include "model/positional/rotary.h"

namespace heed {
namespace {

class Sinusoidal : public PositionalEncoding {
 public:
  Sinusoidal(at::Tensor frequencies, bool interleaved, int64_t rows)
      : frequencies_(std::move(frequencies)),
        interleaved_(interleaved),
        table_(Vectors(at::arange(rows, at::kLong)).to(at::kFloat)) {}

  at::Tensor AddToEmbeddings(at::Tensor x, const TokenPositions& tokens) const override {
    const at::Tensor& positions = tokens.positions;
    const bool ready = x.device().is_cpu() && positions.numel() > 0 &&
                       positions.max().item<int64_t>() < table_.size(0);
    return x.add_(ready ? at::embedding(table_, positions) : Vectors(positions).to(at::kFloat));
  }

  std::optional<at::Tensor> Similarity(int64_t /*layer*/,
                                       const at::Tensor& positions) const override {
    const at::Tensor vectors = Vectors(positions);
    return vectors.matmul(vectors.t()).unsqueeze(0);
  }

 private:
  // [P, D] float64.
  at::Tensor Vectors(const at::Tensor& positions) const {
    const at::Tensor angles = Angles(positions, frequencies_);
    if (!interleaved_) return at::cat({angles.sin(), angles.cos()}, 1);
    return at::stack({angles.sin(), angles.cos()}, 2).flatten(1);
  }

  const at::Tensor frequencies_;  // [D/2] float64
  const bool interleaved_;
  const at::Tensor table_;  // [rows, D] float32, the first positions
};

}  // namespace

absl::StatusOr<std::unique_ptr<PositionalEncoding>> Make_sinusoidal(const EncodingSpec& spec) {
  EncodingReader reader("sinusoidal", spec);
  const double base = reader.Number("base", 10000, 1, 1e12);
  const bool interleaved = reader.Choice("layout", {"interleaved", "halves"}) == "interleaved";
  if (spec.hidden_size % 2 != 0) {
    reader.BadSize("hidden_size", spec.hidden_size, "is odd: sines and cosines come in pairs");
  }
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return std::make_unique<Sinusoidal>(InverseFrequencies(spec.hidden_size, base), interleaved,
                                      ReadyRows(spec.max_positions));
}

}  // namespace heed
