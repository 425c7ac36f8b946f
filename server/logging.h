// Where log lines go and how they look.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace heed {

enum class LogFormat { kText, kJson };

// Makes spdlog's default logger write to standard error, one line an event. `level` is one of
// LogLevels(). In kJson each line is one object with time, level and message.
void SetUpLogging(const std::string& level, LogFormat format);

// "trace", "debug", "info", "warning", "error", "off".
bool IsLogLevel(const std::string& level);

// `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string JsonString(const std::string& text);

}  // namespace heed
