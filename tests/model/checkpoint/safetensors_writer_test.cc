#include "model/checkpoint/safetensors_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

namespace heed {
namespace {

TEST(SafetensorsWriterTest, WritesWhatTheReaderReads) {
  const std::string path = testing::TempDir() + "writer_test.safetensors";
  const float weight[] = {1, 2, 3, 4, 5, 6};
  const int8_t small[] = {7};
  const auto bytes = [](const auto& array) {
    return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(array), sizeof(array));
  };
  ASSERT_TRUE(WriteSafetensors(path,
                               {{"w", {DType::kF32, {2, 3}, bytes(weight)}},
                                {"a", {DType::kI8, {1}, bytes(small)}}},
                               {{"format", "pt"}})
                  .ok());
  const auto file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  const TensorView* const w = (*file)->Find("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(w->data.data(), weight, sizeof(weight)), 0);
  EXPECT_EQ(*reinterpret_cast<const int8_t*>((*file)->Find("a")->data.data()), 7);
  EXPECT_EQ((*file)->metadata().at("format"), "pt");
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  std::filesystem::remove(path);
}

TEST(SafetensorsWriterTest, SaysWhereItCannotWrite) {
  EXPECT_FALSE(WriteSafetensors("no/such/folder/x.safetensors", {}).ok());
}

}  // namespace
}  // namespace heed
