#include "client/commands/arguments.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace heed::cli {
namespace {

// CLI11 reads "[a, b]" as a list and "" and "%%" as separators, but a text is a text: such an
// argument, and each behind "--", is marked before CLI11 sees it, and unmarked afterwards.
constexpr char kMark = '\x02';

bool LooksLikeSyntax(absl::string_view argument) {
  return argument.empty() || argument.front() == '[' || argument.front() == '{' ||
         argument.front() == '%' || argument.front() == kMark;
}

}  // namespace

std::vector<std::string> Protect(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  bool all_texts = false;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    if (!all_texts && argument == "--") {
      all_texts = true;
    } else if (all_texts || LooksLikeSyntax(argument)) {
      arguments.push_back(absl::StrCat(std::string(1, kMark), argument));
    } else {
      arguments.emplace_back(argument);
    }
  }
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

void Unprotect(std::string* argument) {
  if (!argument->empty() && argument->front() == kMark) argument->erase(0, 1);
}

std::string UnprotectMessage(absl::string_view message) {
  return absl::StrReplaceAll(message, {{std::string(1, kMark), ""}});
}

}  // namespace heed::cli
