// Weights from plain numbers: what a checkpoint file gives, without the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/checkpoint/checkpoint.h"

namespace heed {

class FakeWeights {
 public:
  void Add(const std::string& role, std::vector<int64_t> shape, const std::vector<float>& values,
           WeightForm form = WeightForm::kPlain, int64_t parts = 1) {
    AddBytes(role, DType::kF32, std::move(shape), values.data(), values.size() * sizeof(float),
             form, parts);
  }

  // The same for elements of any type, given as they stand in the file.
  void AddBytes(const std::string& role, DType dtype, std::vector<int64_t> shape, const void* data,
                size_t size, WeightForm form = WeightForm::kPlain, int64_t parts = 1) {
    // An odd address: files give no alignment.
    std::vector<std::byte>& bytes = bytes_[role];
    bytes.resize(size + 1);
    std::memcpy(bytes.data() + 1, data, size);
    map_.tensors[role] = {
        {dtype, std::move(shape), absl::MakeConstSpan(bytes.data() + 1, size)}, form, parts};
  }

  // Normally distributed values, which are returned.
  std::vector<float> AddRandom(const std::string& role, std::vector<int64_t> shape) {
    size_t count = 1;
    for (const int64_t size : shape) count *= static_cast<size_t>(size);
    std::normal_distribution<float> normal;
    std::vector<float> values;
    for (size_t i = 0; i < count; ++i) values.push_back(normal(random_));
    Add(role, std::move(shape), values);
    return values;
  }

  WeightMap& map() { return map_; }

 private:
  std::mt19937 random_{1};
  std::map<std::string, std::vector<std::byte>> bytes_;
  WeightMap map_;
};

}  // namespace heed
