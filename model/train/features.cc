#include "model/train/features.h"

#include <ATen/ops/cat.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "model/heads/classifier_head.h"

namespace heed {
namespace {

constexpr size_t kTextsPerBatch = 64;

}  // namespace

absl::StatusOr<at::Tensor> SentenceVectors(const Pretrained& encoder,
                                           const std::vector<std::string>& texts,
                                           const std::function<void(size_t done)>& progress) {
  std::vector<at::Tensor> parts;
  for (size_t begin = 0; begin < texts.size(); begin += kTextsPerBatch) {
    const size_t end = std::min(begin + kTextsPerBatch, texts.size());
    RaggedBatch batch;
    for (size_t i = begin; i < end; ++i) {
      EncodeOptions options;
      options.too_long = TooLong::kTruncate;
      const auto item = encoder.tokenizer->Encode(texts[i], std::nullopt, options);
      if (!item.ok()) return item.status();
      batch.Append(item->input);
    }
    const c10::InferenceMode guard;
    parts.push_back(MeanPool(encoder.encoder->Forward(batch), batch));
    progress(end);
  }
  // Cloned outside inference mode, so that training may use it.
  return at::cat(parts).clone();
}

}  // namespace heed
