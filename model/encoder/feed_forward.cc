#include "model/encoder/feed_forward.h"

namespace heed {

at::Tensor FeedForward::operator()(const at::Tensor& x) const {
  if (!gated) return down(activation(up(x)));
  const std::vector<at::Tensor> halves = up(x).chunk(2, -1);
  return down(activation(halves[0].contiguous()).mul_(halves[1]));
}

}  // namespace heed
