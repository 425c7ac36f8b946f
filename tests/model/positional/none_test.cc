#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/model/positional/tile.h"

namespace heed {
namespace {

TEST(NoneTest, ChangesNothingAndHasNoLimit) {
  const auto encoding = Make("none", {});
  const at::Tensor x = at::arange(6, at::kFloat).view({3, 2});
  const at::Tensor positions = Ints({5, 100000, 0});
  const TokenPositions tokens = {positions, Ints({6, 100001, 1})};
  EXPECT_TRUE(encoding->AddToEmbeddings(x.clone(), tokens).equal(x));
  const at::Tensor q = at::randn({3, 1, 2});
  QueryKeyValue projections = {q.clone(), q.clone(), q.clone()};
  encoding->TransformQueryKey(0, tokens, projections);
  EXPECT_TRUE(projections.query.equal(q) && projections.key.equal(q) && projections.value.equal(q));
  Tile tile = MakeTile({5, 0}, {5, 0});
  AddContent(tile, 1, 1, 2);
  EXPECT_FALSE(encoding->ScoreBias(tile).has_value());
  EXPECT_FALSE(encoding->ContentScore(tile).has_value());
  EXPECT_FALSE(encoding->ValueTerm(tile, at::ones({1, 1, 2, 2})).has_value());
  EXPECT_FALSE(encoding->Similarity(0, positions).has_value());
  EXPECT_EQ(encoding->position_limit(), 0);
}

}  // namespace
}  // namespace heed
