// The texts that probes make of a text: other orders, and some tokens masked or dropped. The same
// seed gives the same texts everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "model/api/batch.h"
#include "model/api/tokenizer.h"

namespace heed {

// Random draws that do not depend on the standard library, which leaves its distributions open.
class ProbeRandom {
 public:
  explicit ProbeRandom(uint64_t seed) : engine_(seed) {}

  // Uniform in 0 … bound-1.
  uint64_t Below(uint64_t bound);

  template <typename T>
  void Shuffle(std::vector<T>& values) {
    // Fisher and Yates, 1938.
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[Below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

// Places of the tokens that stand for text, in their order.
std::vector<int64_t> TextTokens(absl::Span<const TokenDetail> tokens);

// A random order: order[i] is the place in the text of what stands at i. Special tokens stay, and
// no token changes its segment.
std::vector<int64_t> RandomOrder(absl::Span<const TokenDetail> tokens, ProbeRandom& random);

// The text in that order; positions stay.
TokenIds Reordered(const TokenIds& text, absl::Span<const int64_t> order);

// The text with that fraction of its tokens, at least one, replaced by `mask`, or without them
// where there is no `mask`. One token is left in any case, since no model takes a text of none.
TokenIds Masked(const TokenIds& text, absl::Span<const TokenDetail> tokens, double fraction,
                std::optional<int64_t> mask, ProbeRandom& random);

// The id of the tokenizer's mask token; nullopt: it has none.
std::optional<int64_t> FindMaskToken(const Tokenizer& tokenizer);

}  // namespace heed
