// `heed probe` and `heed classify --importance`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/client/commands/cli_fixture.h"

namespace heed::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using ProbeTest = CliTest;

TEST_F(ProbeTest, PermuteCountsTheLabels) {
  EXPECT_EQ(Run({"probe", "permute", "a b", "--count", "8", "--seed", "7", "--pair", "c"}), 0)
      << err_.str();
  EXPECT_EQ(server_.probe().permutation.permutation_count(), 8u);
  EXPECT_EQ(server_.probe().permutation.seed(), 7u);
  EXPECT_EQ(server_.probe().permutation.input().text(), "a b");
  EXPECT_EQ(server_.probe().permutation.input().text_pair(), "c");
  EXPECT_EQ(out_.str(),
            "positive 0.7500  as written\n"
            "75.0 % of 8 random orders have the same label\n"
            "0.5 equivariance error (0 up to rounding: order does not count)\n"
            "\n"
            "LABEL     ORDERS   SHARE  MEAN SCORE\n"
            "positive       6  75.0 %      0.7500  ███████▌\n"
            "negative       2  25.0 %      0.7500  ██▌\n");
}

TEST_F(ProbeTest, MaskHasALineAFraction) {
  EXPECT_EQ(Run({"probe", "mask", "a b", "--fractions", "0.25,0.5", "--repeats", "4", "--drop"}), 0)
      << err_.str();
  EXPECT_THAT(server_.probe().masking.fractions(), ElementsAre(0.25f, 0.5f));
  EXPECT_EQ(server_.probe().masking.repeat_count(), 4u);
  EXPECT_TRUE(server_.probe().masking.drop());
  EXPECT_EQ(out_.str(),
            "positive 0.7500  as written\n"
            "\n"
            "TOKENS  SAME LABEL  MEAN SCORE\n"
            "25.0 %      75.0 %      0.6250  ███████▌\n"
            "50.0 %      50.0 %      0.5000  █████\n");
}

TEST_F(ProbeTest, OverrideComparesWithTheOwnPositions) {
  EXPECT_EQ(Run({"probe", "override", "a good day", "--positions", "off", "--positions", "+3",
                 "--model", "m"}),
            0)
      << err_.str();
  ASSERT_THAT(server_.requests(), SizeIs(3));
  EXPECT_FALSE(server_.requests()[0].has_position_override());
  EXPECT_TRUE(server_.requests()[1].position_override().disabled());
  EXPECT_EQ(server_.requests()[2].position_override().offset(), 3);
  EXPECT_EQ(server_.requests()[2].model().name(), "m");
  EXPECT_EQ(out_.str(),
            "POSITIONS  LABEL      SCORE  CHANGE OF positive\n"
            "own        positive  0.9000             +0.0000\n"
            "off        positive  0.9000             +0.0000\n"
            "+3         positive  0.9000             +0.0000\n");
}

TEST_F(ProbeTest, LayersShowTheMeanAndEachHead) {
  EXPECT_EQ(Run({"probe", "layers", "a", "b", "--count", "5"}), 0) << err_.str();
  EXPECT_EQ(server_.probe().profile.inputs_size(), 2);
  EXPECT_EQ(server_.probe().profile.permutation_count(), 5u);
  EXPECT_THAT(out_.str(), HasSubstr("LAYER  POSITION  CONTENT    BOTH\n"
                                    "    0    50.0 %   31.2 %  18.8 %  █████\n"));
  EXPECT_THAT(out_.str(), HasSubstr("layer 2 ██░░\n"));
}

TEST_F(ProbeTest, SimilarityShowsTheKernelByDistance) {
  EXPECT_EQ(Run({"probe", "similarity", "--count", "3", "--layer", "-1"}), 0) << err_.str();
  EXPECT_EQ(server_.probe().similarity.position_count(), 3u);
  EXPECT_EQ(server_.probe().similarity.layer(), -1);
  EXPECT_EQ(out_.str(),
            "Similarity of positions under alibi\n"
            "   0 1 2\n"
            "0 ██▒▒\n"
            "1 ▒▒██▒▒\n"
            "2   ▒▒██\n"
            "  -2     ░░▒▒▒▒▓▓████ 0\n"
            "\n"
            "DISTANCE  SIMILARITY\n"
            "       0           0\n"
            "       1          -1\n"
            "       2          -2\n");
  out_.str("");
  EXPECT_EQ(Run({"probe", "similarity", "--count", "2", "--encoding", "per_head"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("DISTANCE  HEAD 0  HEAD 1\n"
                                    "       0       0       0\n"
                                    "       1      -1      -2\n"));
}

TEST_F(ProbeTest, JsonIsOneObject) {
  const std::vector<std::vector<std::string>> probes = {
      {"permute", "a"}, {"override", "a"}, {"mask", "a"}, {"layers", "a"}, {"similarity"}};
  for (const auto& probe : probes) {
    out_.str("");
    std::vector<std::string> arguments = {"probe"};
    arguments.insert(arguments.end(), probe.begin(), probe.end());
    arguments.push_back("--json");
    EXPECT_EQ(Run(arguments), 0) << err_.str();
    const auto json = nlohmann::json::parse(out_.str());
    EXPECT_EQ(json.at("probe"), probe[0]);
    EXPECT_EQ(json.at("model"), "fake");
  }
  const auto similarity = nlohmann::json::parse(out_.str());
  EXPECT_EQ(similarity.at("similarity").at(31).at(0), -31);
}

TEST_F(ProbeTest, DrawsPictures) {
  const std::string png = std::filesystem::path(::testing::TempDir()) / "probe_test.png";
  const std::vector<std::vector<std::string>> probes = {
      {"probe", "layers", "a", "--png", png},
      {"probe", "similarity", "--encoding", "per_head", "--png", png}};
  for (const auto& arguments : probes) {
    std::filesystem::remove(png);
    EXPECT_EQ(Run(arguments), 0) << err_.str();
    EXPECT_TRUE(std::filesystem::exists(png));
  }
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(Run({"probe", "layers", "a", "--png", "/nowhere/x.png"}), 2);
}

TEST_F(ProbeTest, WrongFlagsAreUsage) {
  const std::vector<std::vector<std::string>> wrong = {
      {"probe"},
      {"probe", "guess"},
      {"probe", "permute"},
      {"probe", "permute", "a", "b"},
      {"probe", "mask", "a", "--fractions", "1.5"},
      {"probe", "override", "a", "--positions", "sideways"},
      {"probe", "similarity", "--count", "-1"}};
  for (const auto& arguments : wrong) EXPECT_EQ(Run(arguments), 2) << arguments.back();
}

using ImportanceTest = CliTest;

TEST_F(ImportanceTest, IsATableWithoutColours) {
  EXPECT_EQ(Run({"classify", "--importance", "rollout_cls", "good day", "x"}), 0) << err_.str();
  EXPECT_EQ(server_.requests().at(0).importance(), v1::IMPORTANCE_ROLLOUT_CLS);
  EXPECT_THAT(out_.str(), HasSubstr("positive  0.9000  █████████   good day\n"
                                    "#  PIECE  IMPORTANCE\n"
                                    "0  [CLS]      0.1000\n"
                                    "1  good       0.2000  █████████████▍\n"
                                    "2  day        0.3000  ████████████████████\n"
                                    "3  [SEP]      0.4000\n"
                                    "negative  0.9000  █████████   x\n"));
}

TEST_F(ImportanceTest, ShadesTheTextOnATerminal) {
  io_.out_is_terminal = true;
  io_.palette = Palette::kGrey256;
  EXPECT_EQ(Run({"classify", "--importance", "mean_last_layer_cls", "good  day"}), 0);
  EXPECT_EQ(server_.requests().at(0).importance(), v1::IMPORTANCE_MEAN_LAST_LAYER_CLS);
  EXPECT_THAT(out_.str(), HasSubstr("\x1b[38;5;16;48;5;247mgood\x1b[0m  "
                                    "\x1b[38;5;16;48;5;255mday\x1b[0m\n"));
}

TEST_F(ImportanceTest, JsonHasTokensAndNumbers) {
  EXPECT_EQ(Run({"classify", "--importance", "rollout_cls", "--json", "good day"}), 0);
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json.at("tokens").at(2).at("piece"), "day");
  EXPECT_EQ(json.at("token_importance"), nlohmann::json({0.1, 0.2, 0.3, 0.4}));
  out_.str("");
  EXPECT_EQ(Run({"classify", "--json", "good day"}), 0);
  EXPECT_FALSE(nlohmann::json::parse(out_.str()).contains("token_importance"));
}

TEST_F(ImportanceTest, OnlyKnownKinds) {
  EXPECT_EQ(Run({"classify", "--importance", "gradient", "x"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("rollout_cls or mean_last_layer_cls is wanted"));
}

}  // namespace
}  // namespace heed::cli
