#include "model/checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/api/error.h"

namespace heed {
namespace {

using testing::HasSubstr;

// A file of exactly these parts.
std::string FileBytes(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof(length));
  return bytes + header + data;
}

class SafetensorsTest : public testing::Test {
 protected:
  ~SafetensorsTest() override { std::filesystem::remove(path_); }

  absl::StatusOr<std::shared_ptr<const SafetensorsFile>> OpenBytes(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return SafetensorsFile::Open(path_);
  }

  void ExpectBroken(const std::string& bytes, const std::string& why) {
    const absl::Status status = OpenBytes(bytes).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
    EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
  }

  const std::string path_ = testing::TempDir() +
                            testing::UnitTest::GetInstance()->current_test_info()->name() +
                            ".safetensors";
};

std::string Entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return absl::StrCat("\"", name, "\":{\"dtype\":\"", dtype, "\",\"shape\":", shape,
                      ",\"data_offsets\":", offsets, "}");
}

TEST_F(SafetensorsTest, ReadsTensorsAndMetadata) {
  const float values[] = {1.5F, -2.0F};
  const std::string data(reinterpret_cast<const char*>(values), sizeof(values));
  const auto file = OpenBytes(FileBytes(
      absl::StrCat("{\"__metadata__\":{\"format\":\"pt\"},", Entry("a", "F32", "[2]", "[0,8]"), ",",
                   Entry("b", "U8", "[1,3]", "[8,11]"), ",", Entry("none", "I64", "[0,4]", "[8,8]"),
                   ",", Entry("scalar", "BF16", "[]", "[11,13]"), "}  "),
      data + "xyz" + "zz"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->metadata().at("format"), "pt");
  EXPECT_EQ((*file)->tensors().size(), 4);
  const TensorView* const a = (*file)->Find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->dtype, DType::kF32);
  EXPECT_EQ(a->shape, std::vector<int64_t>{2});
  EXPECT_EQ(std::memcmp(a->data.data(), values, sizeof(values)), 0);
  EXPECT_EQ((*file)->Find("scalar")->element_count(), 1);
  EXPECT_EQ((*file)->Find("none")->element_count(), 0);
  EXPECT_EQ((*file)->Find("c"), nullptr);
}

TEST_F(SafetensorsTest, MissingFile) {
  EXPECT_EQ(SafetensorsFile::Open("no/such.safetensors").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(SafetensorsTest, HeaderLength) {
  ExpectBroken("", "only 0 bytes");
  ExpectBroken("1234567", "only 7 bytes");
  ExpectBroken(std::string(8, '\0'), "does not begin with '{'");
  ExpectBroken(std::string("\x09\0\0\0\0\0\0\0{}", 10), "header of 9 bytes");
  ExpectBroken(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10),
               "header of 18446744073709551615");
  std::string large("\x01\xe1\xf5\x05\0\0\0\0", 8);  // 100,000,001
  large.resize(8 + 100'000'001, ' ');
  ExpectBroken(large, "the limit is 100000000");
}

TEST_F(SafetensorsTest, HeaderJson) {
  ExpectBroken(FileBytes(" {}", ""), "does not begin with '{'");
  ExpectBroken(FileBytes("[]", ""), "does not begin with '{'");
  ExpectBroken(FileBytes("{\"a\":", ""), "header");
  ExpectBroken(FileBytes("{} x", ""), "header");
  ExpectBroken(FileBytes("{\"\xff\":1}", ""), "header");
  ExpectBroken(FileBytes("{\"a\":1}", ""), "not an object");
  ExpectBroken(FileBytes("{\"__metadata__\":{\"a\":1}}", ""), "__metadata__");
}

TEST_F(SafetensorsTest, DuplicateNames) {
  const std::string entry = Entry("a", "U8", "[1]", "[0,1]");
  ExpectBroken(FileBytes(absl::StrCat("{", entry, ",", entry, "}"), "x"), "\"a\" stands twice");
  ExpectBroken(FileBytes("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"I8\",\"shape\":[1],"
                         "\"data_offsets\":[0,1]}}",
                         "x"),
               "\"dtype\" stands twice");
}

TEST_F(SafetensorsTest, MissingOrExtraKeys) {
  ExpectBroken(FileBytes("{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", "x"), "has no data_offsets");
  ExpectBroken(FileBytes("{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", "x"), "has no dtype");
  ExpectBroken(FileBytes("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", "x"), "has no shape");
  ExpectBroken(
      FileBytes("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"b\":1}}", "x"),
      "has more than");
}

TEST_F(SafetensorsTest, DTypeAndShape) {
  ExpectBroken(FileBytes("{" + Entry("a", "F31", "[1]", "[0,1]") + "}", "x"), "\"F31\"");
  ExpectBroken(FileBytes("{" + Entry("a", "U8", "[-1]", "[0,1]") + "}", "x"), "-1");
  ExpectBroken(FileBytes("{" + Entry("a", "U8", "[1.0]", "[0,1]") + "}", "x"), "1.0");
  ExpectBroken(FileBytes("{" + Entry("a", "U8", "1", "[0,1]") + "}", "x"), "not a list");
  ExpectBroken(FileBytes("{" + Entry("a", "U8", "[18446744073709551615]", "[0,1]") + "}", "x"),
               "63-bit");
  // 2^32 · 2^32 elements wrap to 0 in 64 bits.
  ExpectBroken(FileBytes("{" + Entry("a", "U8", "[4294967296,4294967296]", "[0,0]") + "}", ""),
               "too many");
  ExpectBroken(FileBytes("{" + Entry("a", "F32", "[2]", "[0,4]") + "}", "xxxx"), "needs 8 bytes");
  ExpectBroken(FileBytes("{" + Entry("a", "F32", "[0]", "[0,4]") + "}", "xxxx"), "needs 0 bytes");
}

TEST_F(SafetensorsTest, Offsets) {
  ExpectBroken(FileBytes("{" + Entry("a", "U8", "[2]", "[0,2]") + "}", "x"), "not inside the 1");
  ExpectBroken(FileBytes("{" + Entry("a", "U8", "[1]", "[2,1]") + "}", "xx"), "not inside");
  ExpectBroken(FileBytes("{" + Entry("a", "U8", "[1]", "[-1,0]") + "}", "x"), "pair");
  ExpectBroken(FileBytes("{" + Entry("a", "U8", "[1]", "[0]") + "}", "x"), "pair");
  ExpectBroken(FileBytes("{" + Entry("a", "U8", "[1]", "[18446744073709551615,0]") + "}", "x"),
               "not inside");
}

TEST_F(SafetensorsTest, OverlapsHolesAndTrailingBytes) {
  ExpectBroken(FileBytes("{" + Entry("a", "U8", "[2]", "[0,2]") + "," +
                             Entry("b", "U8", "[2]", "[1,3]") + "}",
                         "xyz"),
               "overlaps");
  ExpectBroken(FileBytes("{" + Entry("a", "U8", "[2]", "[0,2]") + "," +
                             Entry("b", "U8", "[2]", "[0,2]") + "}",
                         "xy"),
               "overlaps");
  ExpectBroken(FileBytes("{" + Entry("a", "U8", "[1]", "[0,1]") + "," +
                             Entry("b", "U8", "[1]", "[2,3]") + "}",
                         "xyz"),
               "bytes 1 to 2");
  ExpectBroken(FileBytes("{" + Entry("a", "U8", "[1]", "[0,1]") + "}", "xy"),
               "1 bytes after the last tensor");
  ExpectBroken(FileBytes("{}", "x"), "1 bytes after");
}

TEST_F(SafetensorsTest, AFolderIsNoFile) {
  EXPECT_EQ(SafetensorsFile::Open(testing::TempDir()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace heed
