#include "model/checkpoint/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "model/api/error.h"

namespace heed {
namespace {

TEST(JsonTest, RefusesANameThatStandsTwice) {
  const auto value = ParseJson(R"({"a": {"b": 1}, "c": [{"b": 2, "b": 3}]})");
  EXPECT_EQ(GetErrorDetail(value.status()).reason, "DUPLICATE_NAME");
  EXPECT_EQ(GetErrorDetail(value.status()).metadata["name"], "b");
}

TEST(JsonTest, TheSameNameInTwoObjectsIsFine) {
  const auto value = ParseJson(R"([{"b": 1}, {"b": {"b": 2}}])");
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ((*value)[1]["b"]["b"], 2);
}

TEST(JsonTest, RefusesWhatIsNotJson) {
  for (const char* const text : {"", "{", "{\"a\":1,}", "nul", "{\"\xff\":1}", "1 2"}) {
    EXPECT_EQ(GetErrorDetail(ParseJson(text).status()).reason, "MALFORMED_JSON") << text;
  }
}

TEST(JsonTest, SurvivesDeepNesting) { EXPECT_FALSE(ParseJson(std::string(1'000'000, '[')).ok()); }

TEST(JsonTest, NamesTheFile) {
  const std::string path = testing::TempDir() + "json_test.json";
  std::ofstream(path) << "{]";
  EXPECT_THAT(ReadJsonFile(path).status().message(), testing::HasSubstr(path));
  EXPECT_EQ(ReadJsonFile("no/such.json").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadJsonFile(testing::TempDir()).status().code(), absl::StatusCode::kNotFound);
  std::ofstream(path, std::ios::trunc).flush();
  EXPECT_EQ(ReadJsonFile(path).status().code(), absl::StatusCode::kInvalidArgument);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace heed
