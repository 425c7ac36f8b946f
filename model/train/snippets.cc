#include "model/train/snippets.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "model/api/error.h"
#include "model/api/utf8.h"

namespace heed {
namespace {

// Every byte as the code point of its value.
std::string FromLatin1(absl::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text.push_back(c);
    } else {
      text.push_back(static_cast<char>(0xc0 | (byte >> 6)));
      text.push_back(static_cast<char>(0x80 | (byte & 0x3f)));
    }
  }
  return text;
}

absl::Status Malformed(int line_number, absl::string_view what) {
  return MakeError(absl::StatusCode::kInvalidArgument, "MALFORMED_LINE",
                   absl::StrCat("line ", line_number, ": ", what),
                   {{"line", absl::StrCat(line_number)}});
}

}  // namespace

absl::StatusOr<std::vector<Snippet>> ParseSnippets(absl::string_view content,
                                                   absl::string_view data_set,
                                                   double min_abs_rating) {
  std::vector<Snippet> snippets;
  int line_number = 0;
  for (absl::string_view line : absl::StrSplit(content, '\n')) {
    ++line_number;
    line = absl::StripSuffix(line, "\r");
    if (line.empty()) continue;
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits('\t', 2));
    if (fields.size() != 3) return Malformed(line_number, "expected id, rating and text");
    Snippet snippet;
    if (!absl::SimpleAtod(fields[1], &snippet.rating) || !(std::abs(snippet.rating) <= 4)) {
      return Malformed(line_number, absl::StrCat("\"", fields[1], "\" is no rating in [-4, 4]"));
    }
    if (std::abs(snippet.rating) < min_abs_rating) continue;
    snippet.id = std::string(fields[0]);
    snippet.text =
        FindInvalidUtf8(fields[2]).has_value() ? FromLatin1(fields[2]) : std::string(fields[2]);
    snippet.split = SplitOf(data_set, snippet.id);
    snippets.push_back(std::move(snippet));
  }
  return snippets;
}

absl::StatusOr<std::vector<Snippet>> ReadSnippets(const std::string& path, double min_abs_rating) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  std::ostringstream content;
  content << file.rdbuf();
  return ParseSnippets(content.str(), std::filesystem::path(path).stem().string(), min_abs_rating);
}

}  // namespace heed
