// Entities of labelled tokens: worked by hand, and against transformers (recipes/entities.py).
#include "server/entities.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace heed {
namespace {

const std::vector<std::string> kLabels = {"O", "B-PER", "I-PER", "B-LOC", "I-LOC", "MISC", "E-ORG"};

// A token as a test writes it: where it stands, what the model says, and its word.
struct Labelled {
  uint32_t start = 0;
  uint32_t end = 0;
  std::string label;  // empty: a special token
  float score = 0;
  int64_t word = -1;
  uint32_t segment = 0;
};

// An entity as a test reads it.
struct Expected {
  std::string label;
  float score = 0;
  uint32_t start = 0;
  uint32_t end = 0;
  uint32_t segment = 0;
};

class EntitiesTest : public testing::Test {
 protected:
  void Add(const Labelled& labelled) {
    TokenDetail token;
    // Every character of these texts has two bytes.
    token.start_byte = 2 * labelled.start;
    token.end_byte = 2 * labelled.end;
    token.start_char = labelled.start;
    token.end_char = labelled.end;
    token.segment = labelled.segment;
    token.special = labelled.label.empty();
    token.word = labelled.word;
    tokens_.push_back(token);
    // A special token's label must not count, however sure the model is of it.
    const std::string label = token.special ? "B-PER" : labelled.label;
    for (const std::string& other : kLabels) {
      scores_.push_back(other == label ? (token.special ? 1.0f : labelled.score) : 0.01f);
    }
  }

  void Check(EntityAggregation aggregation, const std::vector<Expected>& expected) {
    const std::vector<EntitySpan> found = FindEntities(tokens_, scores_, kLabels, aggregation);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(found[i].label, expected[i].label);
      EXPECT_FLOAT_EQ(found[i].score, expected[i].score);
      EXPECT_EQ(found[i].start_char, expected[i].start);
      EXPECT_EQ(found[i].end_char, expected[i].end);
      EXPECT_EQ(found[i].start_byte, 2 * expected[i].start);
      EXPECT_EQ(found[i].end_byte, 2 * expected[i].end);
      EXPECT_EQ(found[i].segment, expected[i].segment);
    }
  }

  std::vector<TokenDetail> tokens_;
  std::vector<float> scores_;
};

TEST_F(EntitiesTest, NothingComesOfNothing) {
  Check(EntityAggregation::kNone, {});
  Add({});
  Add({});
  for (const auto aggregation :
       {EntityAggregation::kNone, EntityAggregation::kSimple, EntityAggregation::kFirst}) {
    Check(aggregation, {});
  }
}

TEST_F(EntitiesTest, NoneKeepsEachTokenAndItsPrefix) {
  Add({});
  Add({0, 3, "B-PER", 0.9f, 0});
  Add({3, 5, "I-PER", 0.7f, 0});
  Add({6, 9, "O", 0.8f, 1});
  Add({10, 14, "MISC", 0.6f, 2});
  Add({});
  Check(EntityAggregation::kNone,
        {{"B-PER", 0.9f, 0, 3}, {"I-PER", 0.7f, 3, 5}, {"MISC", 0.6f, 10, 14}});
}

TEST_F(EntitiesTest, SimpleJoinsNeighboursOfOneTag) {
  Add({});
  Add({0, 3, "B-PER", 0.9f, 0});
  Add({4, 7, "I-PER", 0.5f, 1});
  Add({8, 9, "O", 0.8f, 2});
  Add({10, 14, "I-PER", 0.6f, 3});  // "I-" without a "B-" before it begins one too
  Add({15, 17, "I-LOC", 0.4f, 4});  // another tag
  Add({});
  Check(EntityAggregation::kSimple,
        {{"PER", 0.7f, 0, 7}, {"PER", 0.6f, 10, 14}, {"LOC", 0.4f, 15, 17}});
}

TEST_F(EntitiesTest, BeginsSeparatesNeighboursOfOneTag) {
  Add({0, 3, "B-LOC", 0.9f, 0});
  Add({4, 7, "B-LOC", 0.8f, 1});
  Add({8, 9, "I-LOC", 0.6f, 2});
  Check(EntityAggregation::kSimple, {{"LOC", 0.9f, 0, 3}, {"LOC", 0.7f, 4, 9}});
}

TEST_F(EntitiesTest, LabelsWithoutPrefixGoOn) {
  Add({0, 3, "MISC", 0.9f, 0});
  Add({4, 7, "MISC", 0.7f, 1});
  Check(EntityAggregation::kSimple, {{"MISC", 0.8f, 0, 7}});
}

// "E-ORG" is no prefix that is read, so it differs from every tag but itself; transformers all the
// same names the group after what follows the dash.
TEST_F(EntitiesTest, OtherPrefixesAreTagsNamedAfterTheDash) {
  Add({0, 3, "E-ORG", 0.9f, 0});
  Add({4, 7, "E-ORG", 0.7f, 1});
  Check(EntityAggregation::kNone, {{"E-ORG", 0.9f, 0, 3}, {"E-ORG", 0.7f, 4, 7}});
  Check(EntityAggregation::kSimple, {{"ORG", 0.8f, 0, 7}});
}

// transformers' own example: "microsoft" is B-PER I-LOC in its pieces and B-PER as a word.
TEST_F(EntitiesTest, FirstGivesAWordTheLabelOfItsFirstToken) {
  Add({});
  Add({0, 5, "B-PER", 0.9f, 0});
  Add({5, 9, "I-LOC", 0.8f, 0});
  Add({10, 13, "I-PER", 0.5f, 1});
  Add({13, 17, "O", 0.99f, 1});
  Add({18, 20, "O", 0.7f, 2});
  Add({20, 22, "B-LOC", 0.9f, 2});
  Add({});
  Check(EntityAggregation::kSimple,
        {{"PER", 0.9f, 0, 5}, {"LOC", 0.8f, 5, 9}, {"PER", 0.5f, 10, 13}, {"LOC", 0.9f, 20, 22}});
  Check(EntityAggregation::kFirst, {{"PER", 0.7f, 0, 17}});
}

TEST_F(EntitiesTest, NothingReachesAcrossTheTextsOfAPair) {
  Add({});
  Add({0, 3, "B-PER", 0.9f, 0, 0});
  Add({0, 0, "", 0, -1, 0});
  Add({0, 4, "I-PER", 0.7f, 0, 1});  // word 0 again, of the other text
  Add({4, 6, "I-PER", 0.5f, 0, 1});
  Add({0, 0, "", 0, -1, 1});
  Check(EntityAggregation::kSimple, {{"PER", 0.9f, 0, 3, 0}, {"PER", 0.6f, 0, 6, 1}});
  Check(EntityAggregation::kFirst, {{"PER", 0.9f, 0, 3, 0}, {"PER", 0.7f, 0, 6, 1}});
}

TEST_F(EntitiesTest, TheFirstOfEqualScoresCounts) {
  Add({0, 3, "I-LOC", 0.01f, 0});  // all labels have 0.01, and "O" is the first
  Check(EntityAggregation::kNone, {});
}

std::vector<TokenDetail> TokensOf(const nlohmann::json& test_case) {
  std::vector<TokenDetail> tokens(test_case.at("words").size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i].start_char = test_case.at("offsets")[2 * i];
    tokens[i].end_char = test_case.at("offsets")[2 * i + 1];
    tokens[i].special = test_case.at("special")[i] == 1;
    tokens[i].word = test_case.at("words")[i];
  }
  return tokens;
}

TEST(EntitiesGoldenTest, AreThoseOfTransformers) {
  std::ifstream file("tests/golden/entities.json");
  ASSERT_TRUE(file.good());
  const nlohmann::json golden = nlohmann::json::parse(file);
  const std::pair<const char*, EntityAggregation> strategies[] = {
      {"none", EntityAggregation::kNone},
      {"simple", EntityAggregation::kSimple},
      {"first", EntityAggregation::kFirst}};
  size_t compared = 0;
  for (const auto& test_case : golden.at("cases")) {
    const auto tokens = TokensOf(test_case);
    const auto scores = test_case.at("scores").get<std::vector<float>>();
    const auto labels = test_case.at("labels").get<std::vector<std::string>>();
    for (const auto& [name, aggregation] : strategies) {
      SCOPED_TRACE(test_case.dump() + name);
      const auto found = FindEntities(tokens, scores, labels, aggregation);
      const auto& expected = test_case.at(name);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].label, expected[i][0]);
        EXPECT_NEAR(found[i].score, expected[i][1].get<double>(), 1e-6);
        EXPECT_EQ(found[i].start_char, expected[i][2]);
        EXPECT_EQ(found[i].end_char, expected[i][3]);
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 500u);
}

}  // namespace
}  // namespace heed
