#include "model/encoder/embeddings.h"

#include <ATen/ops/embedding.h>

namespace heed {

at::Tensor Embeddings::Forward(const at::Tensor& ids, const at::Tensor& segments,
                               const at::Tensor& positions) const {
  at::Tensor x = at::embedding(word, ids);
  x.add_(at::embedding(segment, segments));
  return norm(positional->AddToEmbeddings(std::move(x), {positions, positions + 1}));
}

}  // namespace heed
