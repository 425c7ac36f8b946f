// How much of the variance of a head's attention scores positions explain, and how much content.
//
// Let the tokens of a text stand in random orders. The score of query position p and key position q
// (before the softmax, less its mean, see below) is then a number that
// depends on two things: the pair of positions P = (p, q), and the pair of tokens C that stands
// there. Over random orders P and C vary independently, so that its variance splits into
//   Var = Var E[score | P] + Var E[score | C] + the rest (interaction),
// the first-order terms of the functional analysis of variance (Sobol', 2001, "Global sensitivity
// indices for nonlinear mathematical models", equation 7). Both are estimated as the variance
// between groups of a one-way layout with random effects and groups of unequal size (Searle,
// Casella and McCulloch, 1992, "Variance Components", section 3.6), which corrects for the finite
// number of orders. Only pairs p ≠ q of tokens of the text count, no special ones.
//
// The mean is that of the row p over the keys of q's segment. The softmax does not see a row's
// mean; and no order moves a token to another segment, so that what a score has of the two segments
// alone would hang on P as much as on C, and count twice.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "model/api/attention.h"
#include "model/api/tokenizer.h"

namespace heed {

// Variances of one head, in nats squared, not below 0.
struct ScoreVariance {
  double position = 0;
  double content = 0;
  double total = 0;
};

// Collects the scores of one text and layer over several orders.
class LayerProfile {
 public:
  // tokens: of the text.
  LayerProfile(int64_t head_count, absl::Span<const TokenDetail> tokens);

  // Bytes that one of these holds.
  static double Bytes(int64_t head_count, int64_t place_count);

  // scores: [heads, n, n] of the text in `order` (see RandomOrder); -inf: not seen.
  void Add(const AttentionMap& scores, absl::Span<const int64_t> order);

  // One a head.
  std::vector<ScoreVariance> Variances() const;

 private:
  struct Head {
    std::vector<double> position_sums;  // [m, m]
    std::vector<double> content_sums;   // [m, m]
    double squares = 0;
  };

  std::vector<int64_t> places_;     // of the tokens that count, ascending
  std::vector<uint32_t> segments_;  // of those, [m]
  std::vector<int64_t> index_of_place_;
  std::vector<Head> heads_;
  std::vector<int64_t> position_counts_;  // [m, m], the same for all heads
  std::vector<int64_t> content_counts_;
};

}  // namespace heed
