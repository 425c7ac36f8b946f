// The files for analysis, read back byte by byte: their formats are promises to other programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zip.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "client/render/npz.h"
#include "client/render/safetensors.h"

namespace heed::cli {
namespace {

using ::testing::HasSubstr;

AttentionData Sample() {
  AttentionData data;
  data.reduction = v1::ATTENTION_REDUCTION_MEAN_HEADS;
  data.top_k = 2;
  data.header.set_model_name("modèl");
  data.header.set_model_version("v1");
  for (const char* piece : {"[CLS]", "naïve", "😀"}) {
    v1::Token* const token = data.header.add_tokens();
    token->set_piece(piece);
    token->set_id(int64_t{data.header.tokens_size()} << 33);
    token->set_special(piece[0] == '[');
    token->set_end_byte(7);
  }
  data.header.add_layers(4);
  data.header.add_layers(5);
  data.header.add_heads(0);
  data.header.add_heads(1);
  for (const uint32_t token : {0, 1, 2}) data.header.add_query_rows(token);
  for (const uint32_t token : {0, 1, 2}) data.header.add_key_columns(token);
  for (const int64_t dimension : {2, 1, 3, 2}) data.header.add_shape(dimension);
  for (int i = 0; i < 12; ++i) {
    data.weights.push_back(static_cast<float>(i) / 16.0f);
    data.columns.push_back(static_cast<uint32_t>(i % 3));
  }
  return data;
}

std::string TempPath(const char* name) {
  return std::filesystem::path(::testing::TempDir()) / name;
}

std::string ReadMember(zip_t* archive, const char* name) {
  zip_stat_t stat;
  if (zip_stat(archive, name, 0, &stat) != 0) return "";
  std::string bytes(stat.size, '\0');
  zip_file_t* const file = zip_fopen(archive, name, 0);
  EXPECT_EQ(zip_fread(file, bytes.data(), bytes.size()), static_cast<zip_int64_t>(bytes.size()));
  zip_fclose(file);
  return bytes;
}

// What numpy.lib.format says of version 1.0: magic, length, and a dictionary that ends in "\n" on
// a multiple of 64.
std::string HeaderOf(const std::string& npy, size_t* data) {
  EXPECT_EQ(npy.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const size_t length =
      static_cast<unsigned char>(npy[8]) + 256u * static_cast<unsigned char>(npy[9]);
  *data = 10 + length;
  EXPECT_EQ(*data % 64, 0u);
  EXPECT_EQ(npy[*data - 1], '\n');
  std::string header = npy.substr(10, length - 1);
  header.erase(header.find_last_not_of(' ') + 1);
  return header;
}

class NpzTest : public ::testing::Test {
 protected:
  NpzTest() : path_(TempPath("attention_files_test.npz")) {
    const absl::Status status = WriteNpz(path_, Sample());
    EXPECT_TRUE(status.ok()) << status;
    archive_ = zip_open(path_.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, nullptr);
  }
  ~NpzTest() override { zip_discard(archive_); }

  std::string path_;
  zip_t* archive_ = nullptr;
};

TEST_F(NpzTest, WeightsAreFloat32) {
  const std::string npy = ReadMember(archive_, "weights.npy");
  size_t data = 0;
  EXPECT_EQ(HeaderOf(npy, &data),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 3, 2), }");
  ASSERT_EQ(npy.size(), data + 48);
  float last = 0.0f;
  std::memcpy(&last, &npy[data + 44], 4);
  EXPECT_EQ(last, 11.0f / 16.0f);
}

TEST_F(NpzTest, EveryOtherArrayIsThere) {
  size_t data = 0;
  EXPECT_EQ(HeaderOf(ReadMember(archive_, "columns.npy"), &data),
            "{'descr': '<u4', 'fortran_order': False, 'shape': (2, 1, 3, 2), }");
  EXPECT_EQ(HeaderOf(ReadMember(archive_, "layers.npy"), &data),
            "{'descr': '<u4', 'fortran_order': False, 'shape': (2,), }");
  EXPECT_EQ(HeaderOf(ReadMember(archive_, "token_ids.npy"), &data),
            "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }");
  EXPECT_EQ(HeaderOf(ReadMember(archive_, "token_chars.npy"), &data),
            "{'descr': '<u4', 'fortran_order': False, 'shape': (3, 2), }");
  const std::string special = ReadMember(archive_, "token_special.npy");
  EXPECT_EQ(HeaderOf(special, &data), "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }");
  EXPECT_EQ(special.substr(data), std::string("\1\0\0", 3));
  EXPECT_EQ(HeaderOf(ReadMember(archive_, "reduction.npy"), &data),
            "{'descr': '<U10', 'fortran_order': False, 'shape': (), }");
}

TEST_F(NpzTest, PiecesAreUtf32) {
  const std::string npy = ReadMember(archive_, "tokens.npy");
  size_t data = 0;
  EXPECT_EQ(HeaderOf(npy, &data), "{'descr': '<U5', 'fortran_order': False, 'shape': (3,), }");
  ASSERT_EQ(npy.size(), data + 3 * 5 * 4);
  uint32_t diaeresis = 0, face = 0, padding = 1;
  std::memcpy(&diaeresis, &npy[data + 4 * 7], 4);
  std::memcpy(&face, &npy[data + 4 * 10], 4);
  std::memcpy(&padding, &npy[data + 4 * 11], 4);
  EXPECT_EQ(diaeresis, 0xEFu);
  EXPECT_EQ(face, 0x1F600u);
  EXPECT_EQ(padding, 0u);
}

TEST_F(NpzTest, ReplacesTheFileThatIsThere) {
  const auto size = std::filesystem::file_size(path_);
  ASSERT_TRUE(WriteNpz(path_, Sample()).ok());
  EXPECT_EQ(std::filesystem::file_size(path_), size);
}

TEST(SafetensorsTest, HeaderAndDataFitTogether) {
  const std::string path = TempPath("attention_files_test.safetensors");
  ASSERT_TRUE(WriteSafetensors(path, Sample()).ok());
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  const auto header = nlohmann::json::parse(bytes.substr(8, length));
  const auto& weights = header.at("weights");
  EXPECT_EQ(weights.at("dtype"), "F32");
  EXPECT_EQ(weights.at("shape"), nlohmann::json({2, 1, 3, 2}));
  EXPECT_EQ(weights.at("data_offsets"), nlohmann::json({0, 48}));
  EXPECT_EQ(header.at("token_ids").at("dtype"), "I64");
  EXPECT_EQ(header.at("__metadata__").at("model"), "modèl");
  EXPECT_EQ(nlohmann::json::parse(header.at("__metadata__").at("tokens").get<std::string>()),
            nlohmann::json({"[CLS]", "naïve", "😀"}));
  // The data follow one another without a hole, up to the end of the file.
  size_t covered = 0;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    covered += tensor.at("data_offsets").at(1).get<size_t>() -
               tensor.at("data_offsets").at(0).get<size_t>();
  }
  EXPECT_EQ(bytes.size(), 8 + length + covered);
  float last = 0.0f;
  std::memcpy(&last, &bytes[8 + length + 44], 4);
  EXPECT_EQ(last, 11.0f / 16.0f);
}

TEST(SafetensorsTest, AFullDiskIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  // A link, so that what is removed after the failure is not the device.
  const std::string path = TempPath("attention_files_test.full");
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/dev/full", path);
  const absl::Status status = WriteSafetensors(path, Sample());
  EXPECT_THAT(std::string(status.message()), HasSubstr("No space left on device"));
  EXPECT_FALSE(std::filesystem::is_symlink(path));
}

}  // namespace
}  // namespace heed::cli
