#include "model/positional/options.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/api/error.h"
#include "tests/model/positional/tile.h"

namespace heed {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(EncodingReaderTest, ReadsOptionsAndTheirDefaults) {
  const EncodingSpec spec =
      MakeSpec(1, 2, {}, {{"base", "500000.5"}, {"k", "7"}, {"on", "true"}, {"layout", "half"}});
  EncodingReader reader("e", spec);
  EXPECT_EQ(reader.Number("base", 1, 0, 1e9), 500000.5);
  EXPECT_EQ(reader.Number("other_base", 3.5, 0, 1e9), 3.5);
  EXPECT_EQ(reader.Int("k", 1, 0, 7), 7);
  EXPECT_EQ(reader.Int("other_k", -5, 0, 9), -5);
  EXPECT_TRUE(reader.Bool("on", false));
  EXPECT_TRUE(reader.Bool("other_on", true));
  EXPECT_EQ(reader.Choice("layout", {"interleaved", "half"}), "half");
  EXPECT_EQ(reader.Choice("other_layout", {"interleaved", "half"}), "interleaved");
  EXPECT_TRUE(reader.Finish().ok());
}

TEST(EncodingReaderTest, ErrorsNameEncodingOptionAndValue) {
  const auto bad = [](const std::string& value, auto read) {
    const EncodingSpec spec = MakeSpec(1, 2, {}, {{"opt", value}});
    EncodingReader reader("enc", spec);
    read(reader);
    const absl::Status status = reader.Finish();
    EXPECT_EQ(GetErrorDetail(status).reason, "BAD_ENCODING_OPTION");
    EXPECT_THAT(Message(status),
                AllOf(HasSubstr("\"enc\""), HasSubstr("\"opt\""), HasSubstr("(" + value + ")")));
  };
  for (const std::string value : {"nan", "inf", "1e3", "-0.1", "x", ""}) {
    bad(value, [](EncodingReader& r) { r.Number("opt", 1, 0, 999); });
  }
  for (const std::string value : {"1.5", "8", "-1", "99999999999999999999", ""}) {
    bad(value, [](EncodingReader& r) { r.Int("opt", 1, 0, 7); });
  }
  bad("True", [](EncodingReader& r) { r.Bool("opt", false); });
  bad("halves", [](EncodingReader& r) { r.Choice("opt", {"half"}); });
}

TEST(EncodingReaderTest, RefusesAnOptionThatNobodyRead) {
  const EncodingSpec spec = MakeSpec(1, 2, {}, {{"bse", "1"}});
  EncodingReader reader("enc", spec);
  reader.Number("base", 1, 0, 2);
  const absl::Status status = reader.Finish();
  EXPECT_EQ(GetErrorDetail(status).reason, "UNKNOWN_ENCODING_OPTION");
  EXPECT_THAT(Message(status), HasSubstr("\"bse\""));
}

TEST(EncodingReaderTest, MissingAndMisshapenTensorsAreNamed) {
  const EncodingSpec spec = MakeSpec(1, 2, {{"positional.table", at::zeros({3, 2})}});
  EncodingReader fits("enc", spec);
  EXPECT_TRUE(fits.Weight("positional.table", {-1, 2}).defined());
  EXPECT_FALSE(fits.OptionalWeight("positional.other", {2}).defined());
  EXPECT_TRUE(fits.Finish().ok());

  EncodingReader missing("enc", spec);
  missing.Weight("positional.other", {-1, 2});
  EXPECT_EQ(GetErrorDetail(missing.Finish()).reason, "MISSING_POSITION_TENSOR");
  EXPECT_THAT(Message(missing.Finish()),
              AllOf(HasSubstr("\"positional.other\""), HasSubstr("[*, 2]")));

  EncodingReader misshapen("enc", spec);
  EXPECT_FALSE(misshapen.OptionalWeight("positional.table", {4, 2}).defined());
  EXPECT_EQ(GetErrorDetail(misshapen.Finish()).reason, "BAD_POSITION_TENSOR");
  EXPECT_THAT(Message(misshapen.Finish()), AllOf(HasSubstr("[3, 2]"), HasSubstr("[4, 2]")));
}

TEST(EncodingReaderTest, ALayersOwnTensorComesBeforeTheModels) {
  const Weights weights = {{"positional.bias", at::zeros({1})},
                           {"layers.1.positional.bias", at::ones({1})}};
  const EncodingSpec spec = MakeSpec(1, 2, weights, {}, 3);
  EncodingReader reader("enc", spec);
  const LayerTensors bias = reader.LayerWeights("bias", {1});
  EXPECT_EQ(TensorOf(bias, 0).item<float>(), 0);
  EXPECT_EQ(TensorOf(bias, 1).item<float>(), 1);
  EXPECT_EQ(TensorOf(bias, 2).item<float>(), 0);
  EXPECT_FALSE(TensorOf(bias, 3).defined());
  EXPECT_TRUE(reader.Finish().ok());
}

TEST(EncodingReaderTest, ALayerWithoutATensorIsNamed) {
  EncodingSpec spec = MakeSpec(1, 2, {{"layers.1.positional.bias", at::ones({1})}}, {}, 3);
  EncodingReader all("enc", spec);
  EXPECT_EQ(all.OptionalLayerWeights("bias", {1}).size(), 1);
  all.LayerWeights("bias", {1});
  EXPECT_THAT(Message(all.Finish()), HasSubstr("\"layers.0.positional.bias\""));
  spec.layers = {1};
  EncodingReader one("enc", spec);
  EXPECT_EQ(one.LayerWeights("bias", {1}).size(), 1);
  EXPECT_TRUE(one.Finish().ok());
}

TEST(LayersTest, EmptyMeansAll) {
  EncodingSpec spec = MakeSpec(1, 2, {}, {}, 3);
  EXPECT_THAT(LayersOf(spec), ElementsAre(0, 1, 2));
  EXPECT_TRUE(ActsIn(spec.layers, 7));
  spec.layers = {2};
  EXPECT_THAT(LayersOf(spec), ElementsAre(2));
  EXPECT_TRUE(ActsIn(spec.layers, 2));
  EXPECT_FALSE(ActsIn(spec.layers, 0));
}

}  // namespace
}  // namespace heed
