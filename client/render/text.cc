#include "client/render/text.h"

#include <locale.h>
#include <wchar.h>

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace heed::cli {
namespace {

constexpr char32_t kZeroWidthJoiner = 0x200D;
constexpr char32_t kEmojiPresentation = 0xFE0F;

struct CodePoint {
  char32_t value = 0;
  size_t bytes = 0;  // 0: the first byte of `text` starts no well-formed sequence
};

// The first code point of `text`, which is not empty (Unicode, table 3-7).
CodePoint Decode(absl::string_view text) {
  const auto byte = [&text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {};
  char32_t value = lead & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = (value << 6) | (byte(i) & 0x3F);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[length] || value > 0x10FFFF || surrogate) return {};
  return {value, length};
}

bool Steers(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

std::string EscapeOne(char32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  if (c < 0x100) return absl::StrFormat("\\x%02x", static_cast<uint32_t>(c));
  return absl::StrFormat("\\u%04x", static_cast<uint32_t>(c));
}

// wcwidth() of a locale of its own, so that the user's LANG does not change the table.
int TableWidth(char32_t c) {
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", static_cast<locale_t>(nullptr));
  if (c < 0x80 || utf8 == static_cast<locale_t>(nullptr)) return 1;
  const locale_t before = uselocale(utf8);
  const int width = wcwidth(static_cast<wchar_t>(c));
  uselocale(before);
  return width < 0 ? 1 : width;
}

// Walks over text and knows how many columns each code point adds.
class WidthCounter {
 public:
  size_t Add(char32_t c) {
    const bool skin_tone = c >= 0x1F3FB && c <= 0x1F3FF;
    size_t added = 0;
    if (c == kEmojiPresentation) {
      added = last_width_ == 1 ? 1 : 0;
    } else if (!joined_ && !(skin_tone && last_width_ == 2)) {
      added = static_cast<size_t>(TableWidth(c));
    }
    joined_ = c == kZeroWidthJoiner;
    if (added > 0) last_width_ = c == kEmojiPresentation ? 2 : added;
    return added;
  }

 private:
  bool joined_ = false;
  size_t last_width_ = 0;  // of the last character that is seen
};

}  // namespace

std::optional<size_t> FindBadUtf8(absl::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t bytes = Decode(text.substr(at)).bytes;
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::nullopt;
}

std::u32string ToUtf32(absl::string_view text) {
  std::u32string result;
  while (!text.empty()) {
    const CodePoint c = Decode(text);
    result.push_back(c.bytes == 0 ? U'\uFFFD' : c.value);
    text.remove_prefix(c.bytes == 0 ? 1 : c.bytes);
  }
  return result;
}

std::string Escape(absl::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = Decode(text);
    if (c.bytes == 0) {
      absl::StrAppend(&result, EscapeOne(static_cast<unsigned char>(text[0])));
      text.remove_prefix(1);
      continue;
    }
    if (Steers(c.value)) {
      absl::StrAppend(&result, EscapeOne(c.value));
    } else {
      absl::StrAppend(&result, text.substr(0, c.bytes));
    }
    text.remove_prefix(c.bytes);
  }
  return result;
}

size_t DisplayWidth(absl::string_view text) {
  WidthCounter counter;
  size_t width = 0;
  while (!text.empty()) {
    const CodePoint c = Decode(text);
    width += c.bytes == 0 ? 1 : counter.Add(c.value);
    text.remove_prefix(c.bytes == 0 ? 1 : c.bytes);
  }
  return width;
}

std::string Elide(absl::string_view text, size_t columns) {
  if (columns == 0) return std::string(text);
  WidthCounter counter;
  size_t width = 0;
  size_t at = 0;
  size_t cut = 0;  // bytes that fit beside the ellipsis
  while (at < text.size()) {
    const CodePoint c = Decode(text.substr(at));
    const size_t added = c.bytes == 0 ? 1 : counter.Add(c.value);
    // A character with its marks ends where the next one that takes room begins.
    if (added > 0 && width + 1 <= columns) cut = at;
    width += added;
    at += c.bytes == 0 ? 1 : c.bytes;
    if (width > columns) return absl::StrCat(text.substr(0, cut), "…");
  }
  return std::string(text);
}

std::string PadRight(absl::string_view text, size_t columns) {
  const size_t width = DisplayWidth(text);
  return absl::StrCat(text, std::string(columns > width ? columns - width : 0, ' '));
}

std::string PadLeft(absl::string_view text, size_t columns) {
  const size_t width = DisplayWidth(text);
  return absl::StrCat(std::string(columns > width ? columns - width : 0, ' '), text);
}

}  // namespace heed::cli
