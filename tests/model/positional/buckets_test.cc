#include "model/positional/buckets.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/model/positional/tile.h"

namespace heed {
namespace {

TEST(T5BucketsTest, EqualTheReference) {
  const Reference reference("relative_buckets");
  const at::Tensor r = reference["t5.relative_position"];
  const auto check = [&](const std::string& name, int64_t count, int64_t max_distance) {
    EXPECT_TRUE(T5Buckets(r, count, max_distance).equal(reference[name])) << name;
  };
  check("t5.bidirectional.buckets_32.max_128", 32, 128);
  check("t5.bidirectional.buckets_16.max_64", 16, 64);
  check("t5.bidirectional.buckets_12.max_20", 12, 20);
  check("t5.bidirectional.buckets_64.max_256", 64, 256);
  check("extra.t5.bidirectional", 24, 50);
}

// By hand: 16 buckets a side, 8 of them exact, then one for each factor of 2^(1/2).
TEST(T5BucketsTest, BoundariesThatArePowersAreExact) {
  const at::Tensor d =
      Ints({0, 1, -1, 7, 8, 15, 16, -16, 31, 32, 63, 64, 127, 128, 100000, -100000});
  EXPECT_TRUE(T5Buckets(d, 32, 128)
                  .equal(Ints({0, 17, 1, 23, 24, 25, 26, 10, 27, 28, 29, 30, 31, 31, 31, 15})));
}

TEST(LogBucketsTest, EqualTheReference) {
  const Reference reference("relative_buckets");
  const at::Tensor r = reference["deberta_v2.relative_position"];
  const auto check = [&](const std::string& name, int64_t count, int64_t max_position) {
    EXPECT_TRUE(LogBuckets(r, count, max_position).equal(reference[name])) << name;
  };
  check("deberta_v2.buckets_256.max_512", 256, 512);
  check("deberta_v2.buckets_64.max_512", 64, 512);
  check("deberta_v2.buckets_8.max_48", 8, 48);
  check("extra.deberta_v2", 32, 256);
}

}  // namespace
}  // namespace heed
