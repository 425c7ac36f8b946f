#include "model/train/head_trainer.h"

#include <torch/nn/functional/loss.h>
#include <torch/optim/lbfgs.h>

#include <cmath>

namespace heed {

LogisticHead TrainLogisticHead(const at::Tensor& features, const at::Tensor& labels,
                               const HeadTrainOptions& options) {
  const at::Tensor x = features.to(at::kDouble);
  const at::Tensor mean = x.mean(0);
  const at::Tensor scale = x.std(0).clamp_min(1e-6);
  const at::Tensor standardised = (x - mean) / scale;

  at::Tensor weight =
      at::zeros({options.class_count, x.size(1)}, at::kDouble).set_requires_grad(true);
  at::Tensor bias = at::zeros({options.class_count}, at::kDouble).set_requires_grad(true);
  torch::optim::LBFGS optimizer({weight, bias}, torch::optim::LBFGSOptions(1.0)
                                                    .max_iter(options.max_iterations)
                                                    .tolerance_grad(1e-8)
                                                    .tolerance_change(1e-12)
                                                    .line_search_fn("strong_wolfe"));
  optimizer.step([&] {
    optimizer.zero_grad();
    at::Tensor loss =
        torch::nn::functional::cross_entropy(at::linear(standardised, weight, bias), labels) +
        weight.square().sum() * (options.l2 / 2);
    loss.backward();
    return loss;
  });

  const at::Tensor folded = weight.detach() / scale;
  const at::Tensor shift = bias.detach() - at::mv(folded, mean);
  return {folded.to(at::kFloat).contiguous(), shift.to(at::kFloat).contiguous()};
}

double Accuracy(const LogisticHead& head, const at::Tensor& features, const at::Tensor& labels) {
  const at::Tensor predicted = at::linear(features, head.weight, head.bias).argmax(1);
  return predicted.eq(labels).to(at::kDouble).mean().item<double>();
}

Interval WilsonInterval(double share, int64_t count) {
  const double z = 1.959963984540054;  // the 97.5 % quantile of the normal distribution
  const double n = static_cast<double>(count);
  const double centre = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double half =
      z / (1 + z * z / n) * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  return {centre - half, centre + half};
}

}  // namespace heed
