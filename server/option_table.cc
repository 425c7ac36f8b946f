#include "server/option_table.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/cpu_count.h"

namespace heed {
namespace {

using Values = std::vector<std::string>;

constexpr size_t kMaxModelNameLength = 128;
constexpr int kMaxThreads = 1024;

absl::Status Bad(absl::string_view value, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("\"", value, "\" is not ", expected));
}

bool IsModelName(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxModelNameLength &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
         });
}

absl::Status ApplyModels(const Values& values, Options& options) {
  for (const std::string& value : values) {
    ModelSource source;
    const size_t equals = value.find('=');
    if (equals != std::string::npos && !absl::StrContains(value.substr(0, equals), "/")) {
      source = {value.substr(0, equals), value.substr(equals + 1)};
    } else {
      std::filesystem::path path = std::filesystem::path(value).lexically_normal();
      if (path.filename().empty()) path = path.parent_path();
      source = {path.filename().string(), value};
    }
    if (!IsModelName(source.name) || source.name == "." || source.name == "..") {
      return Bad(value, "NAME=PATH with a name of letters, digits, '.', '_' and '-'");
    }
    if (source.path.empty()) return Bad(value, "NAME=PATH: the path is empty");
    options.models.push_back(std::move(source));
  }
  return absl::OkStatus();
}

absl::Status ParseAddress(const std::string& value, std::string& target) {
  const size_t colon = value.rfind(':');
  int port = -1;
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(value.substr(colon + 1), &port) || port < 0 || port > 65535) {
    return Bad(value, "HOST:PORT with a port from 0 to 65535");
  }
  target = value;
  return absl::OkStatus();
}

absl::Status ParseDuration(const std::string& value, absl::Duration& target) {
  absl::Duration duration;
  if (!absl::ParseDuration(value, &duration) || duration < absl::ZeroDuration()) {
    return Bad(value, "a duration such as 30s or 5ms");
  }
  target = duration;
  return absl::OkStatus();
}

absl::Status ParseDurationAboveZero(const std::string& value, absl::Duration& target) {
  const absl::Status status = ParseDuration(value, target);
  if (status.ok() && target == absl::ZeroDuration()) return Bad(value, "a duration above 0");
  return status;
}

// A positive whole number, optionally with KiB, MiB or GiB.
absl::Status ParseCount(const std::string& value, size_t& target) {
  constexpr size_t kMax = std::numeric_limits<int32_t>::max();
  absl::string_view digits = value;
  size_t unit = 1;
  if (absl::ConsumeSuffix(&digits, "KiB")) unit = size_t{1} << 10;
  if (absl::ConsumeSuffix(&digits, "MiB")) unit = size_t{1} << 20;
  if (absl::ConsumeSuffix(&digits, "GiB")) unit = size_t{1} << 30;
  size_t number = 0;
  if (!absl::SimpleAtoi(digits, &number) || number == 0 || number > kMax / unit) {
    return Bad(value, absl::StrCat("a whole number from 1 to ", kMax));
  }
  target = number * unit;
  return absl::OkStatus();
}

absl::Status ApplyMetricsListen(const Values& v, Options& o) {
  if (v[0] != "off") return ParseAddress(v[0], o.metrics_listen);
  o.metrics_listen.clear();
  return absl::OkStatus();
}

absl::Status ApplyPrecision(const Values& v, Options& o) {
  if (v[0] != "auto" && v[0] != "fp32" && v[0] != "bf16") return Bad(v[0], "auto, fp32 or bf16");
  o.precision = v[0];
  return absl::OkStatus();
}

absl::Status ApplyDevice(const Values& v, Options& o) {
  if (v[0] == "cuda" || absl::StartsWith(v[0], "cuda:")) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", v[0], "\" is not available: this build serves on the CPU only"));
  }
  if (v[0] != "cpu") return Bad(v[0], "cpu");
  o.device = v[0];
  return absl::OkStatus();
}

absl::Status ApplyThreads(const Values& v, Options& o) {
  if (v[0] == "auto") {
    o.threads = AvailableCpuCount();
    return absl::OkStatus();
  }
  if (!absl::SimpleAtoi(v[0], &o.threads) || o.threads < 1 || o.threads > kMaxThreads) {
    return Bad(v[0], absl::StrCat("auto or a whole number from 1 to ", kMaxThreads));
  }
  return absl::OkStatus();
}

absl::Status ApplyLogLevel(const Values& v, Options& o) {
  if (!IsLogLevel(v[0])) return Bad(v[0], "trace, debug, info, warning, error or off");
  o.log_level = v[0];
  return absl::OkStatus();
}

absl::Status ApplyLogFormat(const Values& v, Options& o) {
  if (v[0] != "text" && v[0] != "json") return Bad(v[0], "text or json");
  o.log_format = v[0] == "json" ? LogFormat::kJson : LogFormat::kText;
  return absl::OkStatus();
}

std::vector<OptionSpec> ModelOptions() {
  return {
      {"model", "[NAME=]PATH", "",
       "Serve the Hugging Face folder at PATH; repeatable, the first is the default", true,
       ApplyModels},
      {"model-repository", "DIR", "", "Also serve each folder of DIR that has a config.json", false,
       [](const Values& v, Options& o) {
         o.model_repository = v[0];
         return absl::OkStatus();
       }},
      {"precision", "auto|fp32|bf16", "auto", "Number format of matrix products", false,
       ApplyPrecision},
      {"device", "cpu", "cpu", "Where models compute", false, ApplyDevice},
      {"threads", "auto|N", "auto", "Threads of one forward pass; auto: the CPUs of the container",
       false, ApplyThreads},
  };
}

std::vector<OptionSpec> NetworkOptions() {
  return {
      {"listen", "HOST:PORT", "127.0.0.1:50051", "Address of the gRPC server; port 0: any", false,
       [](const Values& v, Options& o) { return ParseAddress(v[0], o.listen); }},
      {"metrics-listen", "HOST:PORT|off", "127.0.0.1:9464", "Address of /metrics; port 0: any",
       false, ApplyMetricsListen},
      {"max-message-bytes", "BYTES", "16MiB", "Largest request", false,
       [](const Values& v, Options& o) { return ParseCount(v[0], o.max_message_bytes); }},
      {"max-texts-per-request", "N", "4096", "Most inputs of one request", false,
       [](const Values& v, Options& o) { return ParseCount(v[0], o.max_texts_per_request); }},
      {"max-text-bytes", "BYTES", "2MiB", "Longest text, before tokenizing", false,
       [](const Values& v, Options& o) { return ParseCount(v[0], o.max_text_bytes); }},
      {"drain-timeout", "DURATION", "30s", "How long a shutdown waits for accepted requests", false,
       [](const Values& v, Options& o) { return ParseDuration(v[0], o.drain_timeout); }},
  };
}

std::vector<OptionSpec> QueueOptions() {
  return {
      {"max-batch-tokens", "N", "16384", "Most tokens of one batch", false,
       [](const Values& v, Options& o) {
         return ParseCount(v[0], o.scheduler.batch.max_batch_tokens);
       }},
      {"max-batch-texts", "N", "1024", "Most texts of one batch", false,
       [](const Values& v, Options& o) {
         return ParseCount(v[0], o.scheduler.batch.max_batch_texts);
       }},
      {"max-queue-delay", "DURATION", "0", "How long a text may wait for others to join its batch",
       false,
       [](const Values& v, Options& o) {
         return ParseDuration(v[0], o.scheduler.batch.max_queue_delay);
       }},
      {"max-queue-tokens", "N", "1048576", "Most tokens that may wait; more are refused", false,
       [](const Values& v, Options& o) { return ParseCount(v[0], o.scheduler.max_queue_tokens); }},
      {"queue-timeout", "DURATION", "30s", "How long a request may wait before it is refused",
       false,
       [](const Values& v, Options& o) {
         return ParseDurationAboveZero(v[0], o.scheduler.batch.queue_timeout);
       }},
  };
}

std::vector<OptionSpec> AttentionOptions() {
  return {
      {"max-attention-bytes", "BYTES", "256MiB", "Most bytes of weights of one GetAttention", false,
       [](const Values& v, Options& o) { return ParseCount(v[0], o.max_attention_bytes); }},
      {"max-attention-memory", "BYTES", "1GiB",
       "Memory for the attention of all calls; more are refused", false,
       [](const Values& v, Options& o) { return ParseCount(v[0], o.max_attention_memory); }},
      {"attention-stall-timeout", "DURATION", "30s",
       "How long a client of GetAttention may read nothing before its call ends", false,
       [](const Values& v, Options& o) {
         return ParseDurationAboveZero(v[0], o.attention_stall_timeout);
       }},
  };
}

std::vector<OptionSpec> LogOptions() {
  return {
      {"log-level", "LEVEL", "info", "trace, debug, info, warning, error or off", false,
       ApplyLogLevel},
      {"log-format", "text|json", "text", "Form of the log on standard error", false,
       ApplyLogFormat},
  };
}

}  // namespace

const std::vector<OptionSpec>& OptionTable() {
  static const auto* const table = [] {
    auto* all = new std::vector<OptionSpec>;
    for (const auto& part :
         {ModelOptions(), NetworkOptions(), QueueOptions(), AttentionOptions(), LogOptions()}) {
      all->insert(all->end(), part.begin(), part.end());
    }
    return all;
  }();
  return *table;
}

}  // namespace heed
