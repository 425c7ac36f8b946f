// Whether bytes are UTF-8: everything that enters as text is checked once, with one rule.
#pragma once

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"

namespace heed {

// Offset of the first byte that is not part of well-formed UTF-8 (Unicode 15, table 3-7: no
// surrogates, no overlong forms, nothing above U+10FFFF); nothing if `text` is all well formed.
std::optional<size_t> FindInvalidUtf8(absl::string_view text);

}  // namespace heed
