// Texts on the command line that CLI11 would read as syntax of its own.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace heed::cli {

// The arguments without the program's name, last first, as CLI11 takes them. Each that looks like
// syntax, and each behind "--", is marked.
std::vector<std::string> Protect(int argc, const char* const* argv);

// Takes the mark away.
void Unprotect(std::string* argument);

// `message` of CLI11 without the marks of the arguments that it quotes.
std::string UnprotectMessage(absl::string_view message);

}  // namespace heed::cli
