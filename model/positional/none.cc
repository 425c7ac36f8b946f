// No positions at all: the encoder is then permutation-equivariant, f(πX) = πf(X), since
// self-attention treats its input as a set.
// Source: Vaswani et al., "Attention Is All You Need", 2017, arXiv:1706.03762, section 3.5 (why
// positions have to be added).

#include "model/positional/options.h"

namespace heed {

absl::StatusOr<std::unique_ptr<PositionalEncoding>> Make_none(const EncodingSpec& spec) {
  if (absl::Status status = EncodingReader("none", spec).Finish(); !status.ok()) return status;
  return std::make_unique<PositionalEncoding>();
}

}  // namespace heed
