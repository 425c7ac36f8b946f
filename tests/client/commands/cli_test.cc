#include "client/commands/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/client/commands/cli_fixture.h"
#include "tests/client/fake_server.h"

namespace heed::cli {
namespace {

using ::grpc::health::v1::HealthCheckResponse;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(CliTest, ClassifiesArguments) {
  EXPECT_EQ(Run({"classify", "a good day", "awful"}), 0);
  EXPECT_EQ(out_.str(),
            "LABEL      SCORE              TEXT\n"
            "positive  0.9000  █████████   a good day\n"
            "negative  0.9000  █████████   awful\n");
  EXPECT_EQ(err_.str(), "");
}

TEST_F(CliTest, TextsThatLookLikeSyntaxAreTexts) {
  const std::vector<std::string> texts = {"[a, b]", "[MASK]", "%%", "{}", "",       "health",
                                          "\x02x",  "a,b",    "[]", "--", "--json", "-1 star"};
  std::vector<std::string> arguments = {"classify"};
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i == 9) arguments.push_back("--");
    arguments.push_back(texts[i]);
  }
  EXPECT_EQ(Run(arguments), 0) << err_.str();
  EXPECT_EQ(SentTexts(), texts);
}

TEST_F(CliTest, FlagsBecomeRequestFields) {
  EXPECT_EQ(Run({"classify", "x", "--pair", "[y]", "--model", "m", "--top-k", "3", "--logits",
                 "--truncate", "--entities", "first"}),
            0);
  const auto request = server_.requests().at(0);
  EXPECT_EQ(request.inputs(0).text_pair(), "[y]");
  EXPECT_EQ(request.model().name(), "m");
  EXPECT_EQ(request.top_k(), 3u);
  EXPECT_TRUE(request.return_logits());
  EXPECT_EQ(request.entity_aggregation(), v1::ENTITY_AGGREGATION_FIRST);
  EXPECT_EQ(request.long_text_policy(), v1::LONG_TEXT_POLICY_TRUNCATE);
}

TEST_F(CliTest, TheDefaultsRefuseLongTextsAndShowTheBestLabel) {
  EXPECT_EQ(Run({"classify", "x"}), 0);
  const auto request = server_.requests().at(0);
  EXPECT_FALSE(request.inputs(0).has_text_pair());
  EXPECT_FALSE(request.has_model());
  // All labels: a model that labels tokens refuses a number, and nothing says which kind it is.
  EXPECT_EQ(request.top_k(), 0u);
  EXPECT_EQ(request.entity_aggregation(), v1::ENTITY_AGGREGATION_UNSPECIFIED);
  EXPECT_EQ(request.long_text_policy(), v1::LONG_TEXT_POLICY_ERROR);
}

TEST_F(CliTest, ShowsEntities) {
  EXPECT_EQ(Run({"classify", "--model", "tokens", "--entities", "none", "ünder", "no"}), 0);
  EXPECT_EQ(server_.requests().at(0).entity_aggregation(), v1::ENTITY_AGGREGATION_NONE);
  EXPECT_EQ(out_.str(),
            "ünder  1 entity\n"
            "LABEL   SCORE  BYTES  CHARS  ENTITY\n"
            "X      0.9000    0-2    0-1  ü\n"
            "\n"
            "no  1 entity\n"
            "LABEL   SCORE  BYTES  CHARS  ENTITY\n"
            "X      0.9000    0-2    0-1  no\n");
}

TEST_F(CliTest, JsonLinesGiveEntitiesAndTokenLogits) {
  EXPECT_EQ(Run({"classify", "--model", "tokens", "--json", "--logits", "ünder"}), 0);
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_FALSE(json.contains("labels"));
  EXPECT_EQ(json.at("entities").size(), 1u);
  EXPECT_EQ(json.at("entities").at(0).at("text"), "ü");
  EXPECT_EQ(json.at("token_logits"), nlohmann::json({{0.5, -1.5}}));
}

TEST_F(CliTest, ShowsTruncation) {
  EXPECT_EQ(Run({"classify", "--truncate", "twelve bytes"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("twelve bytes [truncated: 10 of 12 tokens]\n"));
}

TEST_F(CliTest, JsonLinesGiveAllLabels) {
  EXPECT_EQ(Run({"classify", "--json"}, "good\nbad\n"), 0);
  std::istringstream lines(out_.str());
  std::string line;
  std::vector<std::string> seen;
  while (std::getline(lines, line)) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json.at("index"), seen.size());
    EXPECT_EQ(json.at("labels").size(), 2u);
    EXPECT_EQ(json.at("timing").at("compute"), 0.002);
    seen.push_back(json.at("text"));
  }
  EXPECT_THAT(seen, ElementsAre("good", "bad"));
}

TEST_F(CliTest, JsonOutputIsJsonlInput) {
  EXPECT_EQ(Run({"classify", "--json", "a \"quoted\" text"}), 0);
  const std::string json = out_.str();
  EXPECT_EQ(Run({"classify", "--jsonl", "--file", "-"}, json), 0) << err_.str();
  EXPECT_THAT(SentTexts(), ElementsAre("a \"quoted\" text", "a \"quoted\" text"));
}

TEST_F(CliTest, ABadLineEndsWithOneAfterTheResultsBefore) {
  EXPECT_EQ(Run({"classify"}, "good\n\xff\n"), 1);
  EXPECT_THAT(out_.str(), HasSubstr("good\n"));
  EXPECT_EQ(err_.str(), "heed: INVALID_ARGUMENT: line 2 of standard input is not UTF-8 (byte 1)\n");
}

TEST_F(CliTest, ARefusedTextIsNamedByItsLine) {
  EXPECT_EQ(Run({"classify"}, "good\nfail\n"), 1);
  EXPECT_EQ(err_.str(),
            "heed: INVALID_ARGUMENT: inputs[1].text has 600 tokens, the limit is 512\n"
            "  inputs[1].text: too many tokens\n"
            "  inputs[1] is line 2 of standard input\n");
}

TEST_F(CliTest, ErrorsOfTheServerCannotSteerTheTerminal) {
  server_.QueueErrors(1,
                      {.code = grpc::StatusCode::INTERNAL, .message = "a\x1b[2J", .reason = "X"});
  EXPECT_EQ(Run({"classify", "x"}), 1);
  EXPECT_EQ(err_.str(), "heed: INTERNAL: a\\x1b[2J\n");
}

TEST_F(CliTest, ReasonsOfTheServerAreNotTakenForAConnectionThatFailed) {
  server_.QueueErrors(5, {.code = grpc::StatusCode::UNAVAILABLE,
                          .message = "waited too long in the queue",
                          .reason = "QUEUE_TIMEOUT"});
  EXPECT_EQ(Run({"classify", "x"}), 3);
  EXPECT_EQ(err_.str(), "heed: UNAVAILABLE: waited too long in the queue\n");
}

TEST_F(CliTest, ADeadlineIsUnreachable) {
  EXPECT_EQ(Run({"classify", "slow", "--timeout", "50ms"}), 3);
  EXPECT_THAT(err_.str(), StartsWith("heed: DEADLINE_EXCEEDED: no answer from 127.0.0.1:"));
  EXPECT_THAT(err_.str(), HasSubstr(" within 50ms\n  more time: --timeout SECONDS\n"));
}

TEST_F(CliTest, WrongUsageIsTwo) {
  const std::vector<std::vector<std::string>> wrong = {{},
                                                       {"nonsense"},
                                                       {"classify"},
                                                       {"classify", "--nonsense", "x"},
                                                       {"classify", "x", "--file", "y"},
                                                       {"classify", "x", "--jsonl"},
                                                       {"classify", "x", "--top-k", "-1"},
                                                       {"classify", "x", "--top-k", "many"},
                                                       {"classify", "x", "--entities", "max"},
                                                       {"classify", "--file", "no/such/file"},
                                                       {"classify", "x", "--timeout", "soon"},
                                                       {"classify", "x", "--timeout", "0"},
                                                       {"classify", "x", "--timeout", "-1"},
                                                       {"classify", "x", "--timeout", "nan"},
                                                       {"classify", "x", "--color", "sometimes"},
                                                       {"models", "--server", "no-port"},
                                                       {"health", "--wait", "soon"}};
  for (const auto& arguments : wrong) {
    err_.str("");
    EXPECT_EQ(Run(arguments), 2) << absl::StrJoin(arguments, " ");
    EXPECT_THAT(err_.str(), StartsWith("heed: "));
  }
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(server_.requests(), IsEmpty());
}

TEST_F(CliTest, HelpAndVersionAreAnswers) {
  EXPECT_EQ(Run({"--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Exit codes:"));
  EXPECT_EQ(Run({"classify", "--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("--top-k"));
  EXPECT_EQ(Run({"--version"}), 0);
  EXPECT_THAT(out_.str(), ::testing::ContainsRegex("heed [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_EQ(err_.str(), "");
}

TEST_F(CliTest, ListsModels) {
  EXPECT_EQ(Run({"models"}), 0);
  EXPECT_EQ(out_.str(),
            "NAME    ARCHITECTURE  ENCODING  LAYERS×HEADS  MAX TOKENS  PRECISION  DEVICE   MEMORY  "
            "LABELS\n"
            "fake *  bert          learned           6×12         512  fp32       cpu     90.9 MB  "
            "negative, positive\n");
}

TEST_F(CliTest, ShowsOneModel) {
  EXPECT_EQ(Run({"models", "fake"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("parameters:          22,713,602\n"));
  EXPECT_EQ(Run({"models", "other"}), 1);
  EXPECT_EQ(err_.str(), "heed: NOT_FOUND: no model \"other\"\n");
}

TEST_F(CliTest, ModelsAsJson) {
  EXPECT_EQ(Run({"models", "--json"}), 0);
  EXPECT_EQ(nlohmann::json::parse(out_.str()).at("head_count"), 12);
}

TEST_F(CliTest, ShowsTokens) {
  EXPECT_EQ(Run({"tokenize", "hello"}), 0);
  EXPECT_EQ(out_.str(),
            "hello  2 tokens\n"
            "#  PIECE    ID  BYTES  CHARS  SEGMENT  SPECIAL\n"
            "0  [CLS]   101      -      -        0  special\n"
            "1  hello  7592    0-5    0-5        0\n");
}

TEST_F(CliTest, TokensAsJson) {
  EXPECT_EQ(Run({"tokenize", "a", "b", "--json"}), 0);
  const std::vector<std::string> lines = absl::StrSplit(out_.str(), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(nlohmann::json::parse(lines[1]).at("index"), 1);
  EXPECT_EQ(nlohmann::json::parse(lines[1]).at("tokens").at(1).at("piece"), "b");
}

TEST_F(CliTest, HealthIsZeroOnlyWhenServing) {
  EXPECT_EQ(Run({"health"}), 0);
  EXPECT_EQ(Run({"health", "heed.v1.ClassificationService"}), 0);
  EXPECT_EQ(out_.str(), "SERVING\nSERVING\n");
  server_.SetHealth({HealthCheckResponse::NOT_SERVING});
  EXPECT_EQ(Run({"health", "--json"}), 1);
  EXPECT_THAT(out_.str(), HasSubstr("{\"service\":\"\",\"status\":\"NOT_SERVING\"}\n"));
  EXPECT_EQ(Run({"health", "nonsense"}), 1);
  EXPECT_EQ(err_.str(), "heed: NOT_FOUND: the server knows no service \"nonsense\"\n");
}

TEST_F(CliTest, HealthWaitsUntilTheServerServes) {
  server_.SetHealth({HealthCheckResponse::NOT_SERVING, HealthCheckResponse::NOT_SERVING,
                     HealthCheckResponse::SERVING});
  const absl::Time start = now_;
  EXPECT_EQ(Run({"health", "--wait", "30"}), 0);
  EXPECT_EQ(out_.str(), "SERVING\n");
  EXPECT_EQ(now_ - start, absl::Milliseconds(400));
}

TEST_F(CliTest, HealthStopsWaitingInTheEnd) {
  server_.SetHealth({HealthCheckResponse::NOT_SERVING});
  const absl::Time start = now_;
  EXPECT_EQ(Run({"health", "--wait", "1.5"}), 1);
  EXPECT_EQ(out_.str(), "NOT_SERVING\n");
  EXPECT_EQ(now_ - start, absl::Milliseconds(1500));
}

TEST_F(CliTest, ColoursOnlyForTerminalsThatWantThem) {
  EXPECT_EQ(Run({"health"}), 0);
  EXPECT_THAT(out_.str(), Not(HasSubstr("\x1b")));
  io_.out_is_terminal = true;
  EXPECT_EQ(Run({"health"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("\x1b[32mSERVING"));
  out_.str("");
  io_.no_color = true;
  EXPECT_EQ(Run({"health"}), 0);
  EXPECT_THAT(out_.str(), Not(HasSubstr("\x1b")));
  EXPECT_EQ(Run({"health", "--color", "always"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("\x1b"));
}

TEST_F(CliTest, ShowsProgressOnlyBesideRedirectedOutput) {
  io_.err_is_terminal = true;
  EXPECT_EQ(Run({"classify", "x"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("\r\x1b[K1 texts"));
  EXPECT_TRUE(err_.str().ends_with("\r\x1b[K"));
  err_.str("");
  io_.out_is_terminal = true;
  EXPECT_EQ(Run({"classify", "x"}), 0);
  EXPECT_EQ(err_.str(), "");
}

TEST_F(CliTest, OutputThatCannotBeWrittenIsAnError) {
  out_.setstate(std::ios::badbit);
  EXPECT_EQ(Run({"health"}), 1);
  EXPECT_EQ(err_.str(), "heed: cannot write to standard output\n");
}

}  // namespace
}  // namespace heed::cli
