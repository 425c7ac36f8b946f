#include "client/attention_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

namespace heed {
namespace {

using ::testing::HasSubstr;

// One layer (4), two heads (0 and 7), two rows of three tokens, in float32.
v1::GetAttentionResponse Header() {
  v1::GetAttentionResponse part;
  v1::AttentionHeader* const header = part.mutable_header();
  for (int i = 0; i < 3; ++i) header->add_tokens();
  header->add_layers(4);
  header->add_heads(0);
  header->add_heads(7);
  for (const uint32_t row : {0, 2}) header->add_query_rows(row);
  for (const uint32_t column : {0, 1, 2}) header->add_key_columns(column);
  for (const int64_t dimension : {1, 2, 2, 3}) header->add_shape(dimension);
  header->set_type(v1::TENSOR_TYPE_FLOAT32);
  header->set_total_bytes(48);
  return part;
}

v1::GetAttentionResponse Tile(uint32_t head, float value) {
  v1::GetAttentionResponse part;
  v1::AttentionTile* const tile = part.mutable_tile();
  tile->set_layer(4);
  tile->set_head(head);
  tile->mutable_weights()->set_type(v1::TENSOR_TYPE_FLOAT32);
  tile->mutable_weights()->add_shape(2);
  tile->mutable_weights()->add_shape(3);
  for (int i = 0; i < 6; ++i) {
    tile->mutable_weights()->mutable_data()->append(reinterpret_cast<const char*>(&value), 4);
  }
  return part;
}

AttentionDecoder Decoder(uint32_t top_k = 0) {
  return AttentionDecoder(v1::ATTENTION_REDUCTION_UNSPECIFIED, top_k, 1 << 20);
}

TEST(AttentionDecoderTest, HalvesAreExact) {
  EXPECT_EQ(HalfToFloat(0x3C00), 1.0f);
  EXPECT_EQ(HalfToFloat(0x3555), 0.333251953125f);
  EXPECT_EQ(HalfToFloat(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(HalfToFloat(0x03FF), std::ldexp(1023.0f, -24));
  EXPECT_EQ(HalfToFloat(0x7BFF), 65504.0f);
  EXPECT_EQ(HalfToFloat(0xC000), -2.0f);
  EXPECT_EQ(HalfToFloat(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(HalfToFloat(0x7E00)));
}

TEST(AttentionDecoderTest, TilesMayComeInAnyOrder) {
  AttentionDecoder decoder = Decoder();
  ASSERT_TRUE(decoder.Add(Header()).ok());
  ASSERT_TRUE(decoder.Add(Tile(7, 0.25f)).ok());
  ASSERT_TRUE(decoder.Add(Tile(0, 0.5f)).ok());
  EXPECT_EQ(decoder.received_bytes(), 48u);
  const auto data = decoder.Finish();
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->at(0, 0, 1, 2), 0.5f);
  EXPECT_EQ(data->at(0, 1, 0, 0), 0.25f);
}

TEST(AttentionDecoderTest, RefusesHeadersThatDoNotFitTogether) {
  const std::vector<std::function<void(v1::AttentionHeader*)>> breaks = {
      [](auto* header) { header->set_total_bytes(47); },
      [](auto* header) { header->clear_shape(); },
      [](auto* header) { header->set_shape(0, 2); },
      [](auto* header) { header->set_shape(3, -3); },
      [](auto* header) { header->set_shape(2, int64_t{1} << 62); },
      [](auto* header) { header->clear_layers(); },
      [](auto* header) { header->set_heads(1, 0); },
      [](auto* header) { header->set_query_rows(1, 3); },
      [](auto* header) { header->set_key_columns(2, 4'000'000'000u); },
      [](auto* header) { header->set_type(static_cast<v1::TensorType>(9)); }};
  for (size_t i = 0; i < breaks.size(); ++i) {
    v1::GetAttentionResponse part = Header();
    breaks[i](part.mutable_header());
    AttentionDecoder decoder = Decoder();
    EXPECT_EQ(decoder.Add(part).code(), absl::StatusCode::kInternal) << i;
  }
}

TEST(AttentionDecoderTest, RefusesTilesThatDoNotFitTheHeader) {
  const std::vector<std::function<void(v1::AttentionTile*)>> breaks = {
      [](auto* tile) { tile->set_layer(0); },
      [](auto* tile) { tile->set_head(1); },
      [](auto* tile) { tile->set_first_row(1); },
      [](auto* tile) { tile->set_first_row(0xFFFFFFFFu); },
      [](auto* tile) { tile->mutable_weights()->mutable_data()->pop_back(); },
      [](auto* tile) { tile->mutable_weights()->set_shape(0, 3); },
      [](auto* tile) { tile->mutable_weights()->set_shape(0, -2); },
      [](auto* tile) { tile->mutable_weights()->clear_shape(); },
      [](auto* tile) { tile->mutable_weights()->set_type(v1::TENSOR_TYPE_FLOAT16); },
      [](auto* tile) { tile->add_columns(0); },
      [](auto* tile) { *tile = Tile(0, std::nanf("")).tile(); }};
  for (size_t i = 0; i < breaks.size(); ++i) {
    AttentionDecoder decoder = Decoder();
    ASSERT_TRUE(decoder.Add(Header()).ok());
    v1::GetAttentionResponse part = Tile(0, 0.5f);
    breaks[i](part.mutable_tile());
    EXPECT_EQ(decoder.Add(part).code(), absl::StatusCode::kInternal) << i;
  }
}

TEST(AttentionDecoderTest, RefusesMessagesOutOfOrder) {
  AttentionDecoder decoder = Decoder();
  EXPECT_FALSE(decoder.Add(Tile(0, 0.5f)).ok());
  AttentionDecoder twice = Decoder();
  ASSERT_TRUE(twice.Add(Header()).ok());
  EXPECT_FALSE(twice.Add(Header()).ok());
  AttentionDecoder again = Decoder();
  ASSERT_TRUE(again.Add(Header()).ok());
  ASSERT_TRUE(again.Add(Tile(0, 0.5f)).ok());
  EXPECT_THAT(std::string(again.Add(Tile(0, 0.5f)).message()), HasSubstr("came twice"));
  AttentionDecoder nothing = Decoder();
  EXPECT_FALSE(nothing.Finish().ok());
}

TEST(AttentionDecoderTest, TopKNeedsItsColumns) {
  v1::GetAttentionResponse part = Tile(0, 0.5f);
  for (const uint32_t column : {0, 1, 2, 2, 1, 3}) part.mutable_tile()->add_columns(column);
  AttentionDecoder decoder = Decoder(3);
  ASSERT_TRUE(decoder.Add(Header()).ok());
  EXPECT_THAT(std::string(decoder.Add(part).message()),
              HasSubstr("token 3, which is no key column"));
  AttentionDecoder without = Decoder(3);
  ASSERT_TRUE(without.Add(Header()).ok());
  EXPECT_THAT(std::string(without.Add(Tile(0, 0.5f)).message()), HasSubstr("0 columns for 6"));
}

TEST(AttentionDecoderTest, BytesHaveAScaleARow) {
  v1::Tensor tensor;
  tensor.set_type(v1::TENSOR_TYPE_UINT8);
  tensor.add_shape(2);
  tensor.add_shape(2);
  tensor.set_data(std::string("\x00\x02\xff\x01", 4));
  tensor.add_scales(0.5f);
  EXPECT_FALSE(DecodeTensor(tensor, 2).ok());
  tensor.add_scales(2.0f);
  const auto values = DecodeTensor(tensor, 2);
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(*values, std::vector<float>({0.0f, 1.0f, 510.0f, 2.0f}));
}

}  // namespace
}  // namespace heed
