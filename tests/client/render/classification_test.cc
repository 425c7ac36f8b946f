#include "client/render/classification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "client/render/text.h"

namespace heed::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void AddLabel(const char* name, uint32_t id, float score, ResultRow* row) {
  v1::LabelScore* const label = row->result.add_labels();
  label->set_label(name);
  label->set_label_id(id);
  label->set_score(score);
}

ResultRow Row(const std::string& text) {
  ResultRow row;
  row.input.set_text(text);
  AddLabel("positive", 1, 0.75f, &row);
  AddLabel("negative", 0, 0.25f, &row);
  return row;
}

TEST(ClassificationTableTest, ShowsTheTextBesideTheBestLabel) {
  ClassificationTable table(Style(), false);
  EXPECT_EQ(table.Render({Row("a good day")}),
            "LABEL      SCORE              TEXT\n"
            "positive  0.7500  ███████▌    a good day\n"
            "negative  0.2500  ██▌\n");
}

TEST(ClassificationTableTest, PrintsItsTitleOnce) {
  ClassificationTable table(Style(), false);
  EXPECT_EQ(table.Render({}), "");
  EXPECT_THAT(table.Render({Row("x")}), HasSubstr("LABEL"));
  EXPECT_THAT(table.Render({Row("y")}), Not(HasSubstr("LABEL")));
}

TEST(ClassificationTableTest, ShowsLogitsByLabelId) {
  ClassificationTable table(Style(), true);
  ResultRow row = Row("x");
  row.result.add_logits(-0.5f);
  row.result.add_logits(1.25f);
  EXPECT_EQ(table.Render({row}),
            "LABEL      SCORE                 LOGIT  TEXT\n"
            "positive  0.7500  ███████▌      1.2500  x\n"
            "negative  0.2500  ██▌          -0.5000\n");
}

TEST(ClassificationTableTest, AMissingLogitIsNoCrash) {
  ClassificationTable table(Style(), true);
  EXPECT_THAT(table.Render({Row("x")}), HasSubstr("       -  x"));
}

TEST(ClassificationTableTest, FitsTheTerminal) {
  ClassificationTable table({.columns = 48}, false);
  ResultRow row = Row("中文字符中文字符中文字符中文字符 and more");
  row.result.mutable_usage()->set_truncated(true);
  row.result.mutable_usage()->set_token_count(10);
  row.result.mutable_usage()->set_original_token_count(99);
  row.input.set_text(std::string(500, 'x'));
  ClassificationTable wide({.columns = 100}, false);
  const std::string text = wide.Render({row});
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    EXPECT_LE(DisplayWidth(line), 100u) << line;
  }
  EXPECT_THAT(text, HasSubstr("x… [truncated: 10 of 99 tokens]"));
  const std::string narrow = table.Render({Row(std::string(100, 'y'))});
  EXPECT_THAT(narrow, HasSubstr("  yyyyyyyyyyyyyyyyy…\n"));
}

TEST(ClassificationTableTest, ShowsPairsAndEscapes) {
  ClassificationTable table(Style(), false);
  ResultRow row = Row("a\x1b[2J");
  row.input.set_text_pair("b\n");
  EXPECT_THAT(table.Render({row}), HasSubstr("a\\x1b[2J | b\\n\n"));
}

TEST(ClassificationTableTest, RegressionHasNoBar) {
  ClassificationTable table(Style(), false);
  ResultRow row;
  row.input.set_text("x");
  AddLabel("stars", 0, 3.5f, &row);
  EXPECT_EQ(table.Render({row}),
            "LABEL   SCORE              TEXT\n"
            "stars  3.5000              x\n");
}

}  // namespace
}  // namespace heed::cli
