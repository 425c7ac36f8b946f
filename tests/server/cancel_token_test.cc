#include "server/cancel_token.h"

#include "gtest/gtest.h"

namespace heed {
namespace {

TEST(CancelTokenTest, RunsTheCallbackOnce) {
  CancelToken token;
  int calls = 0;
  token.OnCancel([&] { ++calls; });
  EXPECT_FALSE(token.cancelled());
  token.Cancel();
  token.Cancel();
  EXPECT_TRUE(token.cancelled());
  EXPECT_EQ(calls, 1);
}

TEST(CancelTokenTest, LateCallbackRunsAtOnce) {
  CancelToken token;
  token.Cancel();
  int calls = 0;
  token.OnCancel([&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(CancelTokenTest, CallbackMayAskTheToken) {
  CancelToken token;
  bool seen = false;
  token.OnCancel([&] { seen = token.cancelled(); });
  token.Cancel();
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace heed
