#include "server/logging.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "spdlog/pattern_formatter.h"
#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"

namespace heed {
namespace {

// The message as a JSON string: spdlog's %v would let a quote or a line break through.
class JsonMessageFlag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string text =
        JsonString(std::string(message.payload.data(), message.payload.size()));
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMessageFlag>();
  }
};

}  // namespace

std::string JsonString(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool IsLogLevel(const std::string& level) {
  for (const char* known : {"trace", "debug", "info", "warning", "error", "off"}) {
    if (level == known) return true;
  }
  return false;
}

void SetUpLogging(const std::string& level, LogFormat format) {
  auto logger = std::make_shared<spdlog::logger>(
      "heed", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::info);
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  if (format == LogFormat::kJson) {
    formatter->add_flag<JsonMessageFlag>('*').set_pattern(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%*})");
  } else {
    formatter->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %v");
  }
  logger->set_formatter(std::move(formatter));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace heed
