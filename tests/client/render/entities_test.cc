#include "client/render/entities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "client/render/text.h"

namespace heed::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::Entity* AddEntity(const char* label, uint32_t start, uint32_t end, v1::Classification* result) {
  v1::Entity* const entity = result->add_entities();
  entity->set_label(label);
  entity->set_score(0.5f);
  entity->set_start_byte(start);
  entity->set_end_byte(end);
  entity->set_start_char(start);
  entity->set_end_char(end);
  return entity;
}

TEST(RenderEntitiesTest, OneLineEach) {
  v1::TextInput input;
  input.set_text("Ada in London");
  v1::Classification result;
  AddEntity("PERSON", 0, 3, &result);
  AddEntity("LOC", 7, 13, &result);
  EXPECT_EQ(RenderEntities(0, input, result, Style()),
            "Ada in London  2 entities\n"
            "LABEL    SCORE  BYTES  CHARS  ENTITY\n"
            "PERSON  0.5000    0-3    0-3  Ada\n"
            "LOC     0.5000   7-13   7-13  London\n");
}

TEST(RenderEntitiesTest, SaysWhereThereIsNone) {
  v1::TextInput input;
  input.set_text("x");
  v1::Classification result;
  EXPECT_EQ(RenderEntities(0, input, result, Style()), "x  no entities\n");
  result.mutable_usage()->set_truncated(true);
  result.mutable_usage()->set_token_count(10);
  result.mutable_usage()->set_original_token_count(99);
  EXPECT_EQ(RenderEntities(1, input, result, Style()),
            "\nx  no entities [truncated: 10 of 99 tokens]\n");
}

TEST(RenderEntitiesTest, PairsShowTheSegment) {
  v1::TextInput input;
  input.set_text("Ada");
  input.set_text_pair("Bob");
  v1::Classification result;
  AddEntity("PER", 0, 3, &result)->set_segment(1);
  EXPECT_EQ(RenderEntities(0, input, result, Style()),
            "Ada | Bob  1 entity\n"
            "LABEL   SCORE  BYTES  CHARS  SEGMENT  ENTITY\n"
            "PER    0.5000    0-3    0-3        1  Bob\n");
}

TEST(RenderEntitiesTest, OffsetsOutsideTheTextAreNoCrash) {
  v1::TextInput input;
  input.set_text("ab");
  v1::Classification result;
  EXPECT_EQ(EntityText(input, *AddEntity("X", 1, 2, &result)), "b");
  EXPECT_EQ(EntityText(input, *AddEntity("X", 0, 3, &result)), "");
  EXPECT_EQ(EntityText(input, *AddEntity("X", 2, 1, &result)), "");
  v1::Entity* const second = AddEntity("X", 0, 1, &result);
  second->set_segment(1);
  EXPECT_EQ(EntityText(input, *second), "");
}

TEST(RenderEntitiesTest, NothingSteersTheTerminal) {
  v1::TextInput input;
  input.set_text("a\x1b[2J\nb");
  v1::Classification result;
  AddEntity("X\n", 0, 6, &result);
  const std::string text = RenderEntities(0, input, result, {.columns = 20});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("a\\x1b[2J"));
  EXPECT_THAT(text, HasSubstr("X\\n"));
}

TEST(RenderEntitiesTest, TheTitleFitsTheTerminal) {
  v1::TextInput input;
  input.set_text(std::string(500, 'x'));
  const v1::Classification result;
  const std::string title = RenderEntities(0, input, result, {.columns = 40});
  EXPECT_EQ(DisplayWidth(title.substr(0, title.find('\n'))), 40u);
}

}  // namespace
}  // namespace heed::cli
