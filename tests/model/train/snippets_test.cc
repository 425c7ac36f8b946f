#include "model/train/snippets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heed {
namespace {

TEST(SnippetsTest, ReadsLinesAndDropsUndecidedOnes) {
  const auto snippets =
      ParseSnippets("1\t2.5\tA joy.\r\n2\t-0.4\tMeh.\r\n3\t-0.5\tTabs\tstay.\r\n\r\n", "set", 0.5);
  ASSERT_TRUE(snippets.ok()) << snippets.status();
  ASSERT_EQ(snippets->size(), 2);
  EXPECT_EQ((*snippets)[0].text, "A joy.");
  EXPECT_EQ((*snippets)[0].label(), 1);
  EXPECT_EQ((*snippets)[0].split, SplitOf("set", "1"));
  EXPECT_EQ((*snippets)[1].id, "3");
  EXPECT_EQ((*snippets)[1].text, "Tabs\tstay.");
  EXPECT_EQ((*snippets)[1].label(), 0);
}

TEST(SnippetsTest, ReadsBytesThatAreNotUtf8AsLatin1) {
  const auto snippets = ParseSnippets("1\t1\tcaf\xe9\n2\t1\tcaf\xc3\xa9\n", "set", 0);
  ASSERT_TRUE(snippets.ok()) << snippets.status();
  EXPECT_EQ((*snippets)[0].text, "caf\xc3\xa9");
  EXPECT_EQ((*snippets)[1].text, "caf\xc3\xa9");
}

TEST(SnippetsTest, NamesTheLineOfAMistake) {
  EXPECT_THAT(ParseSnippets("1\t1\ta\n2\tb\n", "set", 0).status().message(),
              testing::HasSubstr("line 2: expected"));
  EXPECT_THAT(ParseSnippets("1\t4.1\ta\n", "set", 0).status().message(),
              testing::HasSubstr("\"4.1\" is no rating"));
  EXPECT_THAT(ParseSnippets("1\tnan\ta\n", "set", 0).status().message(),
              testing::HasSubstr("\"nan\" is no rating"));
}

TEST(SnippetsTest, MissingFileIsNotFound) {
  EXPECT_EQ(ReadSnippets("no/such/file.txt", 0).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace heed
