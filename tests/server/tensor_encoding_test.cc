#include "server/tensor_encoding.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/server/tensor_decoding.h"

namespace heed {
namespace {

std::vector<double> RoundTrip(v1::TensorType type, const std::vector<float>& row,
                              float* scale = nullptr) {
  v1::Tensor tensor;
  tensor.set_type(type);
  tensor.add_shape(1);
  AppendRow(row, tensor);
  EXPECT_EQ(tensor.data().size(), row.size() * ElementBytes(type));
  EXPECT_EQ(tensor.scales_size(), type == v1::TENSOR_TYPE_UINT8 ? 1 : 0);
  if (scale != nullptr) *scale = tensor.scales(0);
  return DecodeTensor(tensor);
}

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Rows of weights: softmax of normal numbers, from flat (spread 0) to one peak.
std::vector<std::vector<float>> Rows() {
  std::vector<std::vector<float>> rows;
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  for (const size_t length : {1, 2, 3, 5, 17, 128, 512, 4096}) {
    for (const double spread : {0.0, 0.1, 1.0, 3.0, 8.0, 30.0}) {
      for (int repeat = 0; repeat < 8; ++repeat) {
        std::vector<double> row(length);
        for (double& value : row) value = std::exp(spread * normal(random));
        const double total = Sum(row);
        std::vector<float> weights;
        for (const double value : row) weights.push_back(static_cast<float>(value / total));
        rows.push_back(std::move(weights));
      }
    }
  }
  // One large weight above many small ones: where rounding to nearest would lose most.
  for (const float large : {0.45f, 0.51f, 0.6f, 0.75f, 0.9f, 0.97f}) {
    std::vector<float> row(501, (1 - large) / 500);
    row[100] = large;
    rows.push_back(row);
  }
  return rows;
}

TEST(TensorEncodingTest, Float32IsExact) {
  const std::vector<float> row = {0, 1e-30f, 0.25f, 0.7f};
  EXPECT_EQ(RoundTrip(v1::TENSOR_TYPE_FLOAT32, row), std::vector<double>(row.begin(), row.end()));
  v1::Tensor tensor;
  tensor.set_type(v1::TENSOR_TYPE_FLOAT32);
  AppendRow(std::vector<float>{1.0f}, tensor);
  EXPECT_EQ(tensor.data(), std::string("\x00\x00\x80\x3F", 4));
}

TEST(TensorEncodingTest, Float16RoundsToNearest) {
  // 2^-24 is the least number above 0; halfway cases go to the even one.
  EXPECT_EQ(
      RoundTrip(v1::TENSOR_TYPE_FLOAT16,
                {1.0f, 0.5f, std::ldexp(1.0f, -24), std::ldexp(1.0f, -25), std::ldexp(1.0f, -26),
                 1.0f + std::ldexp(1.0f, -11), 1.0f + 3 * std::ldexp(1.0f, -11)}),
      std::vector<double>({1.0, 0.5, std::ldexp(1.0, -24), 0, 0, 1.0, 1.0 + std::ldexp(1.0, -9)}));
  v1::Tensor tensor;
  tensor.set_type(v1::TENSOR_TYPE_FLOAT16);
  AppendRow(std::vector<float>{1.0f}, tensor);
  EXPECT_EQ(tensor.data(), std::string("\x00\x3C", 2));
}

TEST(TensorEncodingTest, RowsKeepTheirSumInEveryType) {
  for (const std::vector<float>& row : Rows()) {
    const double sum = std::accumulate(row.begin(), row.end(), 0.0);
    for (const v1::TensorType type :
         {v1::TENSOR_TYPE_FLOAT32, v1::TENSOR_TYPE_FLOAT16, v1::TENSOR_TYPE_UINT8}) {
      EXPECT_NEAR(Sum(RoundTrip(type, row)), sum, 1e-3) << v1::TensorType_Name(type) << row.size();
    }
  }
}

TEST(TensorEncodingTest, Uint8StaysWithinOneLevel) {
  for (const std::vector<float>& row : Rows()) {
    float scale = 0;
    const std::vector<double> values = RoundTrip(v1::TENSOR_TYPE_UINT8, row, &scale);
    const double level = *std::max_element(row.begin(), row.end()) / 255.0;
    EXPECT_NEAR(scale, level, level * 2e-3);
    for (size_t i = 0; i < row.size(); ++i) {
      ASSERT_LE(std::abs(values[i] - row[i]), level * (1 + 1e-4)) << row.size() << " " << i;
    }
  }
}

// Without need of its sum, a row is rounded to nearest.
TEST(TensorEncodingTest, Uint8IsNearestWhereTheSumAllows) {
  float scale = 0;
  const std::vector<double> values =
      RoundTrip(v1::TENSOR_TYPE_UINT8, {0.51f, 0.1002f, 0.3898f, 0}, &scale);
  EXPECT_FLOAT_EQ(scale, 0.002f);
  EXPECT_NEAR(values[0], 0.51, 1e-6);
  EXPECT_NEAR(values[1], 0.1, 1e-6);
  EXPECT_NEAR(values[2], 0.39, 1e-6);
  EXPECT_EQ(values[3], 0);
}

TEST(TensorEncodingTest, Uint8OfNothingAndOfOneNumber) {
  float scale = 1;
  EXPECT_EQ(RoundTrip(v1::TENSOR_TYPE_UINT8, {0, 0}, &scale), std::vector<double>({0, 0}));
  EXPECT_EQ(scale, 0);
  EXPECT_NEAR(RoundTrip(v1::TENSOR_TYPE_UINT8, {1234.5f})[0], 1234.5, 1e-3);
  EXPECT_EQ(RoundTrip(v1::TENSOR_TYPE_UINT8, {1e-40f, 0}), std::vector<double>({0, 0}));
}

}  // namespace
}  // namespace heed
