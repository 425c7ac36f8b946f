// What the operator decides: one flag for each decision, which a HEED_* variable or a line of the
// config file may also make. The environment is read here and nowhere else.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/logging.h"
#include "server/scheduler.h"

namespace heed {

struct ModelSource {
  std::string name;
  std::string path;
};

struct Options {
  std::vector<ModelSource> models;  // the first is the default
  std::string model_repository;     // empty: none
  std::string listen;
  std::string metrics_listen;  // empty: no endpoint
  std::string precision;
  std::string device;
  int threads = 0;
  absl::Duration drain_timeout;
  BatchScheduler::Limits scheduler;
  size_t max_texts_per_request = 0;
  size_t max_text_bytes = 0;
  size_t max_message_bytes = 0;
  size_t max_attention_bytes = 0;
  size_t max_attention_memory = 0;
  absl::Duration attention_stall_timeout;
  std::string log_level;
  LogFormat log_format = LogFormat::kText;
};

// A setting as it counts, and who decided it.
struct EffectiveValue {
  std::string name;    // the flag without its dashes
  std::string value;   // several values are joined by ", "
  std::string source;  // "flag", "environment", "file" or "default"
};

// What to do after reading the command line.
struct ParsedOptions {
  // Set: print `text` (to standard output for code 0, else standard error) and exit.
  std::optional<int> exit_code;
  std::string text;
  Options options;
  std::vector<EffectiveValue> effective;
};

// Returns the value of an environment variable, or null.
using GetEnv = std::function<const char*(const char* name)>;

// Flag over HEED_* variable over config file over default. An unknown flag or config key, and a
// value that is not valid, give exit code 2 and a text naming it and where it came from.
ParsedOptions ParseOptions(int argc, const char* const* argv, const GetEnv& get_env);
// With the environment of the process.
ParsedOptions ParseOptions(int argc, const char* const* argv);

// `models`, then each folder below `model_repository` with a config.json, by name. Errors:
// INVALID_ARGUMENT naming the flag for a repository that cannot be read, two models of one name,
// or no model at all.
absl::StatusOr<std::vector<ModelSource>> ListModelSources(const Options& options);

}  // namespace heed
