// Trains a classification head on fixed sentence vectors: L2-regularised logistic regression.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace heed {

// Multinomial logistic regression, one weight row a class.
struct LogisticHead {
  at::Tensor weight;  // [C, D]
  at::Tensor bias;    // [C]
};

struct HeadTrainOptions {
  int64_t class_count = 2;
  // Weight of |W|²/2 beside the mean cross-entropy (Hastie, Tibshirani and Friedman, "The Elements
  // of Statistical Learning", 2009, section 4.4); the bias is not penalised.
  double l2 = 1e-4;
  int64_t max_iterations = 200;
};

// Minimises the penalised mean cross-entropy by L-BFGS with a strong-Wolfe line search, from zero;
// the problem is convex, so the result does not depend on a seed. The features are standardised
// inside, and the result is folded back to the raw features.
// features: [N, D] float32, labels: [N] int64.
LogisticHead TrainLogisticHead(const at::Tensor& features, const at::Tensor& labels,
                               const HeadTrainOptions& options);

// Share of rows whose largest logit is at their label.
double Accuracy(const LogisticHead& head, const at::Tensor& features, const at::Tensor& labels);

// Wilson score interval of a share, 95 % (Wilson, 1927).
struct Interval {
  double low = 0;
  double high = 0;
};
Interval WilsonInterval(double share, int64_t count);

}  // namespace heed
