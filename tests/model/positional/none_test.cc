#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "model/positional/encoding.h"

namespace heed {
namespace {

TEST(NoneTest, ChangesNothingAndHasNoLimit) {
  const auto encoding = MakePositionalEncoding("none", {});
  ASSERT_TRUE(encoding.ok()) << encoding.status();
  const at::Tensor x = at::arange(6, at::kFloat).view({3, 2});
  const at::Tensor positions = at::tensor({5, 100000, 0}, at::kLong);
  EXPECT_TRUE((*encoding)->AddToEmbeddings(x.clone(), positions).equal(x));
  EXPECT_EQ((*encoding)->position_limit(), 0);
}

}  // namespace
}  // namespace heed
