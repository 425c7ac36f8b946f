#include "server/logging.h"

#include "gtest/gtest.h"
#include "spdlog/spdlog.h"

namespace heed {
namespace {

TEST(LoggingTest, JsonLinesSurviveQuotesLineBreaksAndBadBytes) {
  testing::internal::CaptureStderr();
  SetUpLogging("info", LogFormat::kJson);
  spdlog::info("a \"quote\"\nand {}", "\xF0\x80");
  spdlog::debug("not shown");
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_NE(line.find(R"("level":"info","message":"a \"quote\"\nand )"), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(line.find("not shown"), std::string::npos);
}

TEST(LoggingTest, TextNamesTheLevel) {
  testing::internal::CaptureStderr();
  SetUpLogging("warning", LogFormat::kText);
  spdlog::warn("mind this");
  spdlog::info("not shown");
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_NE(line.find("warning mind this"), std::string::npos) << line;
  EXPECT_EQ(line.find("not shown"), std::string::npos);
}

TEST(LoggingTest, KnowsItsLevels) {
  EXPECT_TRUE(IsLogLevel("error"));
  EXPECT_FALSE(IsLogLevel("Error"));
  EXPECT_FALSE(IsLogLevel(""));
}

}  // namespace
}  // namespace heed
