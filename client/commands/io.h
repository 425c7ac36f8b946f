// Where a command reads and writes, and what it knows of the outside: passed in, so that tests need
// neither a terminal nor a clock.
#pragma once

#include <cstddef>
#include <functional>
#include <ostream>

#include "absl/time/time.h"
#include "client/render/terminal.h"

namespace heed::cli {

struct Io {
  int in_fd = 0;  // standard input; not owned
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
  bool in_is_terminal = false;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  // The user wants no colours, whatever the terminal can do (https://no-color.org).
  bool no_color = false;
  Palette palette = Palette::kShadeCharacters;
  // Columns of the terminal; 0: unknown or none.
  size_t columns = 0;
  std::function<absl::Time()> now;
  std::function<void(absl::Duration)> sleep;
};

}  // namespace heed::cli
