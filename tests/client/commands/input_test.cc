#include "client/commands/input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace heed::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A pipe with a writing end for the test.
class Pipe {
 public:
  Pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe(ends), 0);
    read_ = ends[0];
    write_ = ends[1];
  }
  ~Pipe() {
    Close();
    close(read_);
  }
  void Write(absl::string_view bytes) {
    ASSERT_EQ(write(write_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void Close() {
    if (write_ >= 0) close(write_);
    write_ = -1;
  }
  int read_end() const { return read_; }

 private:
  int read_ = -1;
  int write_ = -1;
};

// All texts of standard input that holds `bytes`, "A|B" for a pair; the error is put last.
std::vector<std::string> ReadAll(const std::string& bytes, InputOptions options = {}) {
  Pipe input;
  input.Write(bytes);
  input.Close();
  Io io;
  io.in_fd = input.read_end();
  auto source = OpenInput(options, io);
  std::vector<std::string> texts;
  while (source.ok()) {
    v1::TextInput text;
    const absl::StatusOr<bool> more = (*source)->Next(&text);
    if (!more.ok()) texts.emplace_back(more.status().message());
    if (!more.ok() || !*more) break;
    texts.push_back(text.has_text_pair() ? text.text() + "|" + text.text_pair() : text.text());
  }
  return texts;
}

TEST(InputTest, ReadsLines) {
  EXPECT_THAT(ReadAll(""), IsEmpty());
  EXPECT_THAT(ReadAll("\n"), ElementsAre(""));
  EXPECT_THAT(ReadAll("a\n\nb"), ElementsAre("a", "", "b"));
  EXPECT_THAT(ReadAll("a\r\nb\r\n"), ElementsAre("a", "b"));
  EXPECT_THAT(ReadAll("\xEF\xBB\xBFä\n"), ElementsAre("ä"));
}

TEST(InputTest, NamesTheLineThatIsNotUtf8) {
  EXPECT_THAT(ReadAll("fine\nb\xff"
                      "d\nnever\n"),
              ElementsAre("fine", "line 2 of standard input is not UTF-8 (byte 2)"));
}

TEST(InputTest, AddsThePair) {
  InputOptions options;
  options.pair = "q";
  EXPECT_THAT(ReadAll("a\nb\n", options), ElementsAre("a|q", "b|q"));
}

TEST(InputTest, ReadsJsonLines) {
  InputOptions options;
  options.jsonl = true;
  EXPECT_THAT(ReadAll("{\"text\": \"a\\nb\"}\n\n{\"text\":\"c\",\"text_pair\":\"d\",\"id\":1}\n"
                      "{\"text\":\"e\",\"text_pair\":null}",
                      options),
              ElementsAre("a\nb", "c|d", "e"));
  options.pair = "q";
  EXPECT_THAT(ReadAll("{\"text\":\"c\",\"text_pair\":\"d\"}\n{\"text\":\"c\"}\n", options),
              ElementsAre("c|d", "c|q"));
}

TEST(InputTest, NamesTheLineThatIsNotTheJsonWanted) {
  InputOptions options;
  options.jsonl = true;
  EXPECT_THAT(ReadAll("{\"text\":\"a\"}\n\n{\"text\":\n", options),
              ElementsAre("a", "line 3 of standard input is not a JSON object"));
  EXPECT_THAT(ReadAll("[1]", options),
              ElementsAre("line 1 of standard input is not a JSON object"));
  EXPECT_THAT(ReadAll("{\"text\":1}", options),
              ElementsAre("line 1 of standard input has no string \"text\""));
  EXPECT_THAT(ReadAll("{\"text\":\"\",\"text_pair\":2}", options),
              ElementsAre("line 1 of standard input: \"text_pair\" is not a string"));
}

TEST(InputTest, ChecksArgumentsToo) {
  InputOptions options;
  options.texts = {"ok", "\xff"};
  const auto source = OpenInput(options, Io());
  ASSERT_TRUE(source.ok());
  v1::TextInput text;
  EXPECT_TRUE((*source)->Next(&text).ok());
  EXPECT_EQ((*source)->Next(&text).status().message(), "text 2 is not UTF-8 (byte 1)");
  EXPECT_EQ((*source)->Describe(1), "text 2");
}

TEST(InputTest, RefusesWhatFitsNoInput) {
  Io io;
  io.in_is_terminal = true;
  EXPECT_THAT(std::string(OpenInput({}, io).status().message()), HasSubstr("no text"));
  EXPECT_FALSE(OpenInput({.texts = {"a"}, .file = "f"}, io).ok());
  EXPECT_FALSE(OpenInput({.texts = {"a"}, .jsonl = true}, io).ok());
  EXPECT_FALSE(OpenInput({.texts = {"a"}, .pair = "\xff"}, io).ok());
  EXPECT_THAT(std::string(OpenInput({.file = "no/such/file"}, io).status().message()),
              HasSubstr("no/such/file: No such file"));
  EXPECT_THAT(std::string(OpenInput({.file = "/"}, io).status().message()),
              HasSubstr("Is a directory"));
}

TEST(InputTest, ATerminalIsReadWhenAskedFor) {
  Io io;
  io.in_is_terminal = true;
  EXPECT_TRUE(OpenInput({.file = "-"}, io).ok());
}

TEST(LineReaderTest, KnowsWhetherItWouldWait) {
  Pipe input;
  LineReader reader(input.read_end());
  EXPECT_FALSE(reader.Ready());
  input.Write("a\nb\nc");
  EXPECT_TRUE(reader.Ready());
  std::string line;
  EXPECT_TRUE(*reader.Next(&line));
  EXPECT_TRUE(reader.Ready());  // "b" is there already
  EXPECT_TRUE(*reader.Next(&line));
  EXPECT_EQ(line, "b");
  EXPECT_FALSE(reader.Ready());  // half a line only
  input.Close();
  EXPECT_TRUE(reader.Ready());
  EXPECT_TRUE(*reader.Next(&line));
  EXPECT_EQ(line, "c");
  EXPECT_FALSE(*reader.Next(&line));
}

TEST(LineReaderTest, ReadsLinesLongerThanABlock) {
  const std::string file = ::testing::TempDir() + "/heed_long_line.txt";
  FILE* const out = fopen(file.c_str(), "w");
  ASSERT_NE(out, nullptr);
  const std::string long_line(1'000'000, 'x');
  fprintf(out, "%s\nshort\n", long_line.c_str());
  fclose(out);
  const auto source = OpenInput({.file = file}, Io());
  ASSERT_TRUE(source.ok());
  v1::TextInput text;
  EXPECT_TRUE(*(*source)->Next(&text));
  EXPECT_EQ(text.text(), long_line);
  EXPECT_TRUE(*(*source)->Next(&text));
  EXPECT_EQ(text.text(), "short");
  EXPECT_EQ((*source)->Describe(1), "line 2 of " + file);
  unlink(file.c_str());
}

}  // namespace
}  // namespace heed::cli
