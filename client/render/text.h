// Text from others on a terminal: how wide it is, how to shorten it, and how to keep its control
// characters from doing anything.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace heed::cli {

// Offset of the first byte that is not part of well-formed UTF-8 (no surrogates, no overlong
// forms); nothing if all of `text` is.
std::optional<size_t> FindBadUtf8(absl::string_view text);

// `text` as code points; U+FFFD for each byte that is not part of well-formed UTF-8.
std::u32string ToUtf32(absl::string_view text);

// `text` with everything that could steer a terminal or reorder a line made visible: "\n", "\t",
// "\x1b", "\u202e" (C0, DEL, C1, line separators and bidirectional controls). Bytes that are not
// UTF-8 become "\xNN". A backslash stays one: the result is for eyes, not for parsers.
std::string Escape(absl::string_view text);

// Columns that `text` takes on a terminal. Combining marks take none, East Asian wide characters
// and emoji two; what is joined to an emoji (U+200D, skin tones) takes none.
size_t DisplayWidth(absl::string_view text);

// `text` if it fits into `columns`, else its start and "…", never cutting a character from its
// marks. `columns` 0: unlimited.
std::string Elide(absl::string_view text, size_t columns);

// `text` and spaces up to `columns`; at least `text`.
std::string PadRight(absl::string_view text, size_t columns);
std::string PadLeft(absl::string_view text, size_t columns);

}  // namespace heed::cli
