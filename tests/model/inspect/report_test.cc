#include "model/inspect/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heed {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json Inspect(const std::string& name, const LoadOptions& options = {}) {
  const auto report = InspectModel("tests/golden/" + name, options);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *report : json();
}

int64_t Sum(const json& parts, const char* what) {
  int64_t sum = 0;
  for (const json& part : parts) sum += part[what].get<int64_t>();
  return sum;
}

// Counted by hand from the shapes in tests/golden/bert: 40 wide, 312 words, 44 positions, 2
// segments, 2 layers, 80 wide between, 3 labels.
TEST(ReportTest, CountsThePartsOfBert) {
  const json report = Inspect("bert");
  EXPECT_EQ(report["architecture"], "bert");
  EXPECT_EQ(report["limits"]["max_tokens"], 44);
  EXPECT_EQ(report["limits"]["segments"], 2);
  EXPECT_EQ(report["limits"]["pairs"], true);
  EXPECT_EQ(report["sizes"]["head_size"], 8);
  const std::map<std::string, int64_t> expected = {
      {"attention", 2 * 4 * (40 * 40 + 40)},
      {"embeddings", (312 + 2) * 40 + 2 * 40},
      {"feed-forward", 2 * (2 * 40 * 80 + 40 + 80)},
      {"head", 40 * 40 + 40 + 3 * 40 + 3},
      {"norms", 2 * 2 * 2 * 40},
      {"positional", 44 * 40},
  };
  ASSERT_EQ(report["parts"].size(), expected.size());
  for (const json& part : report["parts"]) {
    EXPECT_EQ(part["parameters"], expected.at(part["name"])) << part;
    EXPECT_EQ(part["bytes"], part["parameters"].get<int64_t>() * 4) << part;
  }
  EXPECT_EQ(report["parameters"], Sum(report["parts"], "parameters"));
  EXPECT_EQ(report["bytes"], Sum(report["parts"], "bytes"));
}

TEST(ReportTest, Bfloat16HalvesTheMatricesOnly) {
  LoadOptions options;
  options.precision = "bf16";
  const json report = Inspect("bert", options);
  EXPECT_EQ(report["precision"], "bf16");
  for (const json& part : report["parts"]) {
    int64_t bytes = part["parameters"].get<int64_t>() * 4;
    if (part["name"] == "attention") bytes -= 2 * 2 * 4 * 40 * 40;
    if (part["name"] == "feed-forward") bytes -= 2 * 2 * 2 * 40 * 80;
    EXPECT_EQ(part["bytes"], bytes) << part;
  }
}

TEST(ReportTest, NamesEncodingsAndPatternsByLayer) {
  const json report = Inspect("modernbert");
  ASSERT_EQ(report["positional_encodings"].size(), 2);
  ASSERT_EQ(report["attention_patterns"].size(), 2);
  std::set<int64_t> layers;
  for (const json& pattern : report["attention_patterns"]) {
    for (const json& layer : pattern["layers"]) layers.insert(layer.get<int64_t>());
  }
  EXPECT_EQ(layers.size(), report["sizes"]["layers"].get<size_t>());
  const std::string text = FormatReport(report);
  EXPECT_THAT(text, HasSubstr("positional encoding   rope (base="));
  EXPECT_THAT(text, HasSubstr("attention pattern     sliding_window (window="));
  EXPECT_THAT(text, HasSubstr(" in layers "));
}

TEST(ReportTest, EncoderWithoutAHead) {
  LoadOptions options;
  options.headless = true;
  const json report = Inspect("bert_model", options);
  EXPECT_TRUE(report["task"].is_null());
  EXPECT_THAT(FormatReport(report), HasSubstr("none: no head"));
}

TEST(ReportTest, NotesIgnoredTensors) {
  EXPECT_THAT(FormatReport(Inspect("bert_extra_tensors")), HasSubstr("note: "));
}

TEST(ReportTest, RefusesWhatTheEngineRefuses) {
  EXPECT_THAT(InspectModel("tests/golden/refused/funnel", {}).status().message(),
              HasSubstr("funnel"));
}

}  // namespace
}  // namespace heed
