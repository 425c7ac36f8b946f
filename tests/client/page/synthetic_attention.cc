#include "tests/client/page/synthetic_attention.h"

#include <cmath>
#include <cstdint>

namespace heed {
namespace {

void AddToken(const std::string& piece, uint32_t start, uint32_t length, bool special,
              v1::AttentionHeader* header) {
  v1::Token* const token = header->add_tokens();
  token->set_piece(piece);
  token->set_start_char(start);
  token->set_end_char(start + length);
  token->set_special(special);
}

uint32_t CodePoints(const std::string& text) {
  uint32_t count = 0;
  for (const char byte : text) count += (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  return count;
}

void SetShape(std::vector<int64_t> shape, AttentionData* data) {
  data->header.mutable_shape()->Assign(shape.begin(), shape.end());
}

}  // namespace

AttentionData SyntheticAttention(size_t layers, size_t heads,
                                 const std::vector<std::string>& tokens) {
  AttentionData data;
  v1::AttentionHeader& header = data.header;
  header.set_model_name("synthetic");
  header.set_model_version("0");
  AddToken("[CLS]", 0, 0, true, &header);
  uint32_t start = 0;
  for (const std::string& token : tokens) {
    AddToken(token, start, CodePoints(token), false, &header);
    start += CodePoints(token) + 1;
  }
  AddToken("[SEP]", 0, 0, true, &header);
  const size_t n = tokens.size() + 2;
  for (size_t i = 0; i < layers; ++i) header.add_layers(static_cast<uint32_t>(i));
  for (size_t i = 0; i < heads; ++i) header.add_heads(static_cast<uint32_t>(i));
  for (size_t i = 0; i < n; ++i) {
    header.add_query_rows(static_cast<uint32_t>(i));
    header.add_key_columns(static_cast<uint32_t>(i));
  }
  SetShape({static_cast<int64_t>(layers), static_cast<int64_t>(heads), static_cast<int64_t>(n),
            static_cast<int64_t>(n)},
           &data);
  for (size_t row = 0; row < layers * heads * n; ++row) {
    std::vector<double> scores(n);
    double sum = 0.0;
    for (size_t column = 0; column < n; ++column) {
      scores[column] = std::exp(2.0 * std::sin(1.7 * static_cast<double>(row * n + column)));
      sum += scores[column];
    }
    for (const double score : scores) data.weights.push_back(static_cast<float>(score / sum));
  }
  return data;
}

AttentionData SyntheticRollout(const AttentionData& data) {
  const size_t n = data.dimension(2);
  std::vector<double> product(n * n, 0.0);
  for (size_t i = 0; i < n; ++i) product[i * n + i] = 1.0;
  for (size_t layer = 0; layer < data.dimension(0); ++layer) {
    std::vector<double> next(n * n, 0.0);
    for (size_t i = 0; i < n; ++i) {
      for (size_t k = 0; k < n; ++k) {
        double mean = 0.0;
        for (size_t head = 0; head < data.dimension(1); ++head) mean += data.at(layer, head, i, k);
        const double weight =
            0.5 * mean / static_cast<double>(data.dimension(1)) + (i == k ? 0.5 : 0.0);
        for (size_t j = 0; j < n; ++j) next[i * n + j] += weight * product[k * n + j];
      }
    }
    product = next;
  }
  AttentionData rollout;
  rollout.header = data.header;
  rollout.reduction = v1::ATTENTION_REDUCTION_ROLLOUT;
  SetShape({1, 1, static_cast<int64_t>(n), static_cast<int64_t>(n)}, &rollout);
  rollout.weights.assign(product.begin(), product.end());
  return rollout;
}

AttentionData SyntheticEntropy(const AttentionData& data) {
  const size_t n = data.dimension(3);
  AttentionData entropy;
  entropy.header = data.header;
  entropy.header.clear_key_columns();
  entropy.reduction = v1::ATTENTION_REDUCTION_ENTROPY;
  entropy.header.set_shape(3, 1);
  for (size_t row = 0; row < data.weights.size(); row += n) {
    double sum = 0.0;
    for (size_t i = row; i < row + n; ++i) {
      if (data.weights[i] > 0.0f) sum -= data.weights[i] * std::log(data.weights[i]);
    }
    entropy.weights.push_back(static_cast<float>(sum));
  }
  return entropy;
}

}  // namespace heed
