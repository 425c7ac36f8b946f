// The one list of the server's options: a line here is a flag, a variable, a config key, a line of
// --help and a line of the configuration printed at start.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/options.h"

namespace heed {

struct OptionSpec {
  std::string name;        // without dashes
  std::string value_name;  // for --help
  std::string default_value;
  std::string help;
  bool repeatable = false;
  // Checks the values, one unless repeatable, and stores them. The error says what is wrong with
  // the value; who calls adds the flag's name.
  std::function<absl::Status(const std::vector<std::string>&, Options&)> apply;
};

const std::vector<OptionSpec>& OptionTable();

}  // namespace heed
