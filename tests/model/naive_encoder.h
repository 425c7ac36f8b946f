// The forward pass of a "heed" model in plain loops and float64.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/model/encoder/naive.h"
#include "tests/model/native_folder.h"

namespace heed {

// The sizes it is for.
inline constexpr int64_t kWidth = 24;
inline constexpr int64_t kHeads = 3;
inline constexpr int64_t kHeadSize = 8;
inline constexpr int64_t kLayers = 2;
inline constexpr int64_t kInner = 20;
inline constexpr int64_t kLabels = 3;

// A forward pass by the papers' formulas: pre-norm layers (Xiong et al., 2020, arXiv:2002.04745,
// section 3) of self-attention (Vaswani et al., 2017, arXiv:1706.03762, sections 3.2 and 3.5) and a
// plain or gated network (Shazeer, 2020, arXiv:2002.05202, equation 6).
class NaiveModel {
 public:
  explicit NaiveModel(const NativeFolder& folder) : folder_(folder) {}

  Matrix hidden_states(size_t index) const { return hidden_states_[index]; }

  Vector Logits(const std::vector<int64_t>& ids) {
    hidden_states_.clear();
    Matrix x = Embed(ids);
    hidden_states_.push_back(x);
    for (int64_t i = 0; i < kLayers; ++i) {
      const std::string layer = "layers." + std::to_string(i) + ".";
      Add(Attention(layer + "attention.", Normed(layer + "attention.norm", x)), x);
      Add(FeedForward(layer, Normed(layer + "norm", x)), x);
      if (i + 1 == kLayers) x = Normed("final_norm", x);
      hidden_states_.push_back(x);
    }
    Vector pooled = x[0];
    if (folder_.config["pooling"] == "mean") {
      for (size_t t = 1; t < x.size(); ++t) {
        for (int64_t d = 0; d < kWidth; ++d) pooled[d] += x[t][d];
      }
      for (double& value : pooled) value /= static_cast<double>(x.size());
    }
    return Linear("classifier", pooled);
  }

 private:
  Matrix Rows(const std::string& name) const {
    const NativeFolder::Tensor& tensor = folder_.tensors.at(name);
    return ToMatrix(tensor.values, static_cast<size_t>(tensor.shape[0]));
  }
  Vector Values(const std::string& name) const {
    const std::vector<float>& values = folder_.tensors.at(name).values;
    return {values.begin(), values.end()};
  }
  Vector Linear(const std::string& name, const Vector& x) const {
    return NaiveLinear(Rows(name + ".weight"), Values(name + ".bias"), x);
  }
  Matrix Normed(const std::string& name, const Matrix& x) const {
    Matrix y;
    for (const Vector& row : x) {
      y.push_back(NaiveLayerNorm(Values(name + ".weight"), Values(name + ".bias"), 1e-5, row));
    }
    return y;
  }
  static void Add(const Matrix& y, Matrix& x) {
    for (size_t t = 0; t < x.size(); ++t) {
      for (size_t d = 0; d < x[t].size(); ++d) x[t][d] += y[t][d];
    }
  }

  Matrix Embed(const std::vector<int64_t>& ids) const {
    const Matrix words = Rows("embeddings.word.weight");
    Matrix x;
    for (size_t p = 0; p < ids.size(); ++p) {
      x.push_back(words[ids[p]]);
      if (folder_.config["positional_encoding"] != "sinusoidal") continue;
      for (int64_t d = 0; d < kWidth; ++d) {
        const double angle =
            static_cast<double>(p) / std::pow(10000.0, static_cast<double>(d / 2 * 2) / kWidth);
        x.back()[d] += d % 2 == 0 ? std::sin(angle) : std::cos(angle);
      }
    }
    return x;
  }

  Matrix Attention(const std::string& name, const Matrix& x) const {
    Matrix joined;  // a token's queries, keys and values
    for (const Vector& row : x) joined.push_back(Linear(name + "query_key_value", row));
    Matrix y;
    for (size_t i = 0; i < x.size(); ++i) {
      Vector context(kWidth, 0);
      for (int64_t head = 0; head < kHeads; ++head) {
        const int64_t begin = head * kHeadSize;
        Vector weights;
        double sum = 0;
        for (size_t j = 0; j < x.size(); ++j) {
          double score = 0;
          for (int64_t d = begin; d < begin + kHeadSize; ++d) {
            score += joined[i][d] * joined[j][kWidth + d];
          }
          weights.push_back(std::exp(score / std::sqrt(static_cast<double>(kHeadSize))));
          sum += weights.back();
        }
        for (size_t j = 0; j < x.size(); ++j) {
          for (int64_t d = begin; d < begin + kHeadSize; ++d) {
            context[d] += weights[j] / sum * joined[j][2 * kWidth + d];
          }
        }
      }
      y.push_back(Linear(name + "output", context));
    }
    return y;
  }

  Matrix FeedForward(const std::string& layer, const Matrix& x) const {
    const bool gated = folder_.config["hidden_act"] == "geglu";
    Matrix y;
    for (const Vector& row : x) {
      const Vector up = Linear(layer + "intermediate", row);
      Vector inner;
      for (int64_t i = 0; i < kInner; ++i) {
        inner.push_back(NaiveGelu(up[i]) * (gated ? up[kInner + i] : 1));
      }
      y.push_back(Linear(layer + "output", inner));
    }
    return y;
  }

  const NativeFolder& folder_;
  std::vector<Matrix> hidden_states_;
};

}  // namespace heed
