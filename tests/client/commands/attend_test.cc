// `heed attend`: what its flags ask for, and where the answer goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "client/render/text.h"
#include "tests/client/commands/cli_fixture.h"

namespace heed::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FakeWeight;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class AttendTest : public CliTest {
 protected:
  v1::GetAttentionRequest Sent() { return server_.attention().requests().at(0); }
};

TEST_F(AttendTest, DrawsTheLastLayer) {
  EXPECT_EQ(Run({"attend", "one two three"}), 0) << err_.str();
  EXPECT_EQ(err_.str(), "");
  // Each token looks at itself and at the next.
  EXPECT_EQ(out_.str(),
            "positive 0.7500  5 tokens  fake v1\n"
            "Attention of layer 2, mean over 2 heads\n"
            "         0 1 2 3 4\n"
            "0 [CLS] ████\n"
            "1 one   ▒▒████\n"
            "2 two   ▒▒  ████\n"
            "3 three ▒▒    ████\n"
            "4 [SEP] ██      ██\n"
            "        0     ░░▒▒▒▒▓▓████ 0.353 or more\n"
            "\n"
            "FROM     TO       WEIGHT\n"
            "1 one    1 one    0.3530  ███▌\n"
            "1 one    2 two    0.3530  ███▌\n"
            "2 two    2 two    0.3530  ███▌\n"
            "2 two    3 three  0.3530  ███▌\n"
            "3 three  3 three  0.3530  ███▌\n"
            "1 one    3 three  0.0588  ▋\n"
            "2 two    1 one    0.0588  ▋\n"
            "3 three  1 one    0.0588  ▋\n"
            "\n"
            "LAYER  ENTROPY  DISTANCE  ON SPECIAL\n"
            "    0    1.275      1.07      40.0 %\n"
            "    1    1.305      1.12      43.8 %\n"
            "    2    1.314      1.18      47.1 %\n");
}

TEST_F(AttendTest, TheTerminalAsksForOneSmallMatrixALayer) {
  EXPECT_EQ(Run({"attend", "x"}), 0);
  EXPECT_EQ(Sent().reduction(), v1::ATTENTION_REDUCTION_MEAN_HEADS);
  EXPECT_EQ(Sent().type(), v1::TENSOR_TYPE_FLOAT16);
  EXPECT_FALSE(Sent().has_layers());
  EXPECT_FALSE(Sent().has_position_override());
  EXPECT_EQ(Sent().long_text_policy(), v1::LONG_TEXT_POLICY_ERROR);
}

TEST_F(AttendTest, FlagsBecomeRequestFields) {
  EXPECT_EQ(Run({"attend",      "a b c d", "--pair",  "[y]",        "--layers",    "-1",
                 "--heads",     "1,0",     "--rows",  ":3",         "--columns",   "0:2,-1",
                 "--reduction", "none",    "--top-k", "2",          "--dtype",     "uint8",
                 "--model",     "m",       "--json",  "--truncate", "--positions", "+5"}),
            0)
      << err_.str();
  const v1::GetAttentionRequest request = Sent();
  EXPECT_EQ(request.input().text_pair(), "[y]");
  EXPECT_EQ(request.model().name(), "m");
  EXPECT_THAT(request.layers().indices(), ElementsAre(-1));
  EXPECT_THAT(request.heads().indices(), ElementsAre(1, 0));
  EXPECT_EQ(request.query_rows().ranges(0).start(), 0);
  EXPECT_EQ(request.query_rows().ranges(0).end(), 3);
  EXPECT_THAT(request.key_columns().indices(), ElementsAre(0, 1, -1));
  EXPECT_EQ(request.reduction(), v1::ATTENTION_REDUCTION_UNSPECIFIED);
  EXPECT_EQ(request.top_k(), 2u);
  EXPECT_EQ(request.type(), v1::TENSOR_TYPE_UINT8);
  EXPECT_EQ(request.long_text_policy(), v1::LONG_TEXT_POLICY_TRUNCATE);
  EXPECT_EQ(request.position_override().offset(), 5);
}

TEST_F(AttendTest, JsonHasAllWeights) {
  EXPECT_EQ(Run({"attend", "--json", "one two"}), 0) << err_.str();
  EXPECT_EQ(Sent().reduction(), v1::ATTENTION_REDUCTION_UNSPECIFIED);
  EXPECT_EQ(Sent().type(), v1::TENSOR_TYPE_FLOAT32);
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json.at("shape"), nlohmann::json({3, 2, 4, 4}));
  EXPECT_EQ(json.at("weights").at(2).at(1).at(3).at(0).get<float>(), FakeWeight(2, 1, 3, 0, 4));
  EXPECT_EQ(json.at("tokens").at(1).at("piece"), "one");
  EXPECT_EQ(json.at("labels").at(0).at("label"), "positive");
  EXPECT_FALSE(json.contains("columns"));
}

TEST_F(AttendTest, JsonHasTheColumnsOfTopK) {
  EXPECT_EQ(Run({"attend", "--json", "--top-k", "1", "--layers", "0", "--heads", "1", "one"}), 0);
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json.at("columns").dump(), "[[[[1],[2],[0]]]]");
}

TEST_F(AttendTest, RolloutIsOneMatrix) {
  EXPECT_EQ(Run({"attend", "one", "--reduction", "rollout"}), 0) << err_.str();
  EXPECT_THAT(out_.str(),
              HasSubstr("Attention rollout through 3 layers, 0 to 2, mean over 2 heads"));
  EXPECT_THAT(out_.str(), HasSubstr("  all  "));
}

TEST_F(AttendTest, EntropyIsLayersByHeads) {
  EXPECT_EQ(Run({"attend", "one", "--reduction", "entropy"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("Entropy by layer and head, in nats\n"
                                    "         0 1\n"
                                    "layer 0 ░░░░\n"
                                    "layer 1 ▓▓▓▓\n"));
  EXPECT_THAT(out_.str(), HasSubstr("    2  2.500  2.500  2.500\n"));
}

TEST_F(AttendTest, ANarrowTerminalKeepsTheMostAttended) {
  io_.columns = 24;
  EXPECT_EQ(Run({"attend", "a b c d e f g h i j k l m n o p"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("… the "));
  std::istringstream lines(out_.str());
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  // The field ends with its legend.
  while (std::getline(lines, line) && line.find(" 0.") == std::string::npos) {
    EXPECT_LE(DisplayWidth(line), 24u) << line;
  }
}

TEST_F(AttendTest, ColoursFollowTheTerminal) {
  io_.out_is_terminal = true;
  io_.palette = Palette::kTrueColor;
  EXPECT_EQ(Run({"attend", "one"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("\x1b[38;5;16;48;2;253;231;37m  \x1b[0m"));
  out_.str("");
  io_.palette = Palette::kGrey256;
  EXPECT_EQ(Run({"attend", "one"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("\x1b[38;5;16;48;5;255m  \x1b[0m"));
  out_.str("");
  io_.no_color = true;
  EXPECT_EQ(Run({"attend", "one"}), 0);
  EXPECT_THAT(out_.str(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(out_.str(), HasSubstr("██"));
}

TEST_F(AttendTest, TheProgressBarIsForTerminalsOnly) {
  EXPECT_EQ(Run({"attend", "one", "--json"}), 0);
  EXPECT_THAT(err_.str(), IsEmpty());
  io_.err_is_terminal = true;
  EXPECT_EQ(Run({"attend", "one", "--json"}), 0);
  EXPECT_THAT(err_.str(), IsEmpty()) << "what comes at once needs no bar";
  io_.now = [this] { return now_ += absl::Seconds(1); };
  EXPECT_EQ(Run({"attend", "one", "--json"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr(" of 216 B"));
  EXPECT_EQ(err_.str().substr(err_.str().size() - 4), "\r\x1b[K");
}

TEST_F(AttendTest, WritesFilesAndNothingElse) {
  const auto folder = std::filesystem::path(::testing::TempDir());
  const std::string npz = folder / "attend_test.npz", tensors = folder / "attend_test.safetensors";
  EXPECT_EQ(Run({"attend", "one", "--npz", npz, "--safetensors", tensors}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(Sent().reduction(), v1::ATTENTION_REDUCTION_UNSPECIFIED);
  EXPECT_GT(std::filesystem::file_size(npz), 1000u);
  EXPECT_GT(std::filesystem::file_size(tensors), 1000u);
}

TEST_F(AttendTest, DrawsPictures) {
  const std::string png = std::filesystem::path(::testing::TempDir()) / "attend_test.png";
  for (const bool one_head : {false, true}) {
    std::vector<std::string> arguments = {"attend", "one", "--png", png};
    if (one_head) arguments.insert(arguments.end(), {"--layers", "0", "--heads", "1"});
    std::filesystem::remove(png);
    EXPECT_EQ(Run(arguments), 0) << err_.str();
    std::ifstream file(png, std::ios::binary);
    char magic[4] = {};
    file.read(magic, sizeof(magic));
    EXPECT_EQ(std::string(magic, 4), "\x89PNG");
  }
  EXPECT_EQ(out_.str(), "");
}

TEST_F(AttendTest, ThePageHasRolloutEntropyAndImportance) {
  const std::string html = std::filesystem::path(::testing::TempDir()) / "attend_test.html";
  EXPECT_EQ(Run({"attend", "one two", "--html", html, "--columns", "0:2", "--positions", "off"}), 0)
      << err_.str();
  EXPECT_EQ(err_.str(), "");
  const auto requests = server_.attention().requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[1].reduction(), v1::ATTENTION_REDUCTION_ROLLOUT);
  EXPECT_TRUE(requests[1].has_key_columns());
  EXPECT_EQ(requests[2].reduction(), v1::ATTENTION_REDUCTION_ENTROPY);
  EXPECT_FALSE(requests[2].has_key_columns());
  EXPECT_EQ(server_.requests().at(0).importance(), v1::IMPORTANCE_ROLLOUT_CLS);
  EXPECT_TRUE(server_.requests().at(0).position_override().disabled());
  std::ifstream file(html);
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
}

TEST_F(AttendTest, ThePageGoesWithoutWhatIsRefused) {
  const std::string html = std::filesystem::path(::testing::TempDir()) / "attend_test.html";
  server_.QueueErrors(1, {.code = grpc::StatusCode::INTERNAL, .message = "no", .reason = "BUG"});
  EXPECT_EQ(Run({"attend", "one", "--html", html}), 0);
  EXPECT_EQ(err_.str(), "heed: the page has no importance: no\n");
  EXPECT_EQ(Run({"attend", "one", "--html", html, "--reduction", "flow"}), 2);
}

TEST_F(AttendTest, AFileThatCannotBeWrittenIsNamed) {
  for (const char* flag : {"--png", "--html"}) {
    err_.str("");
    EXPECT_EQ(Run({"attend", "one", flag, "/nowhere/a file"}), 2);
    EXPECT_THAT(err_.str(), HasSubstr("/nowhere/a file"));
  }
  for (const char* flag : {"--npz", "--safetensors"}) {
    err_.str("");
    EXPECT_EQ(Run({"attend", "one", flag, "/nowhere/a file"}), 2);
    EXPECT_THAT(err_.str(), AllOf(StartsWith("heed: cannot write /nowhere/a file: "),
                                  HasSubstr("No such file")));
  }
}

TEST_F(AttendTest, WrongFlagsAreUsage) {
  const std::vector<std::vector<std::string>> wrong = {{"attend"},
                                                       {"attend", "x", "--layers", "two"},
                                                       {"attend", "x", "--heads", "3:1"},
                                                       {"attend", "x", "--reduction", "median"},
                                                       {"attend", "x", "--dtype", "int4"},
                                                       {"attend", "x", "--positions", "+-1"}};
  for (const auto& arguments : wrong) EXPECT_EQ(Run(arguments), 2) << arguments.back();
  EXPECT_THAT(err_.str(), HasSubstr("heed: --heads: \"3:1\" is an empty range"));
  EXPECT_THAT(server_.attention().requests(), IsEmpty());
}

TEST_F(AttendTest, AModelWithoutAttentionIsRefused) {
  EXPECT_EQ(Run({"attend", "none"}), 1);
  EXPECT_EQ(err_.str(), "heed: FAILED_PRECONDITION: this model has no attention\n");
}

}  // namespace
}  // namespace heed::cli
