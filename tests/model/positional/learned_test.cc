#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/api/error.h"
#include "model/positional/encoding.h"

namespace heed {
namespace {

EncodingSpec SpecWithTable(at::Tensor table) {
  EncodingSpec spec;
  spec.hidden_size = 2;
  spec.weight = [table](absl::string_view role) -> std::optional<at::Tensor> {
    if (role == "positional.table") return table;
    return std::nullopt;
  };
  return spec;
}

// Golden, by hand: row p of the table is added to the token at position p.
TEST(LearnedTest, AddsTheRowOfEachPosition) {
  const at::Tensor table = at::tensor({1.F, 2.F, 10.F, 20.F, 100.F, 200.F}).view({3, 2});
  const auto encoding = MakePositionalEncoding("learned", SpecWithTable(table));
  ASSERT_TRUE(encoding.ok()) << encoding.status();
  const at::Tensor positions = at::tensor({2, 0, 2}, at::kLong);
  const at::Tensor x = (*encoding)->AddToEmbeddings(at::ones({3, 2}), positions);
  EXPECT_TRUE(x.equal(at::tensor({101.F, 201.F, 2.F, 3.F, 101.F, 201.F}).view({3, 2})));
}

TEST(LearnedTest, LimitIsTheTable) {
  const auto encoding = MakePositionalEncoding("learned", SpecWithTable(at::zeros({7, 2})));
  ASSERT_TRUE(encoding.ok());
  EXPECT_EQ((*encoding)->position_limit(), 7);
}

TEST(LearnedTest, RefusesATableOfAnotherWidth) {
  const auto encoding = MakePositionalEncoding("learned", SpecWithTable(at::zeros({7, 3})));
  EXPECT_EQ(GetErrorDetail(encoding.status()).reason, "MISSING_POSITION_TABLE");
}

TEST(LearnedTest, RefusesAnUnknownOption) {
  EncodingSpec spec = SpecWithTable(at::zeros({7, 2}));
  spec.options["bse"] = "10000";
  const auto encoding = MakePositionalEncoding("learned", spec);
  EXPECT_THAT(encoding.status().message(), testing::HasSubstr("\"bse\""));
}

}  // namespace
}  // namespace heed
