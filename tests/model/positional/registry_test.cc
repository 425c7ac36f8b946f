#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/positional/encoding.h"

namespace heed {
namespace {

TEST(RegistryTest, UnknownNameListsTheKnownOnes) {
  const auto encoding = MakePositionalEncoding("lerned", {});
  EXPECT_EQ(encoding.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(encoding.status().message(), testing::HasSubstr("\"lerned\""));
  for (const std::string& name : PositionalEncodingNames()) {
    EXPECT_THAT(encoding.status().message(), testing::HasSubstr(name));
  }
}

}  // namespace
}  // namespace heed
