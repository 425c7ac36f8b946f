#include "client/render/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace heed::cli {
namespace {

using ::testing::HasSubstr;

class OutputFileTest : public ::testing::Test {
 protected:
  OutputFileTest() { std::filesystem::create_directory(folder_); }
  ~OutputFileTest() override { std::filesystem::remove_all(folder_); }

  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // A test runs in a process of its own, so its name is enough.
  const std::string folder_ = ::testing::TempDir() + "output_file_" +
                              ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(OutputFileTest, ReplacesAFileAndLeavesNothingElse) {
  const std::string path = folder_ + "/a";
  ASSERT_TRUE(WriteFile(path, "first, and long").ok());
  ASSERT_TRUE(WriteFile(path, absl::string_view("se\0cond", 7)).ok());
  EXPECT_EQ(Read(path), std::string("se\0cond", 7));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(OutputFileTest, KeepsALinkAndWritesWhereItLeads) {
  ASSERT_TRUE(WriteFile(folder_ + "/a", "old").ok());
  std::filesystem::create_symlink("a", folder_ + "/link");
  ASSERT_TRUE(WriteFile(folder_ + "/link", "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ + "/link"));
  EXPECT_EQ(Read(folder_ + "/a"), "new");
}

TEST_F(OutputFileTest, SaysWhichFileCannotBeWrittenAndWhy) {
  const absl::Status status = WriteFile(folder_ + "/no/such/a", "x");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("/no/such/a\": No such file or directory"));
  EXPECT_FALSE(WriteFile(folder_, "x").ok());
  EXPECT_FALSE(WriteFile("/dev/full", "x").ok());
  EXPECT_TRUE(WriteFile("/dev/null", "x").ok());
}

}  // namespace
}  // namespace heed::cli
