#include "server/options.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "server/option_table.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr int kUsageError = 2;
constexpr char kConfig[] = "config";

// Where a value came from, in words for the operator.
struct RawValue {
  std::vector<std::string> values;
  std::string source;
  std::string origin;  // e.g. "--listen" or "HEED_LISTEN"
};
using RawValues = std::map<std::string, RawValue>;

std::string EnvironmentName(const std::string& option) {
  return absl::StrCat("HEED_", absl::AsciiStrToUpper(absl::StrReplaceAll(option, {{"-", "_"}})));
}

ParsedOptions Stop(int code, std::string text) {
  ParsedOptions parsed;
  parsed.exit_code = code;
  parsed.text = std::move(text);
  return parsed;
}

std::vector<std::string> SplitList(const OptionSpec& spec, const std::string& value) {
  if (!spec.repeatable) return {value};
  return absl::StrSplit(value, ',', absl::SkipEmpty());
}

// Command line syntax, --help and --version. Fills `raw`; a set result ends the program.
std::optional<ParsedOptions> ReadFlags(int argc, const char* const* argv, RawValues& raw,
                                       std::string& config_path) {
  CLI::App app("Serves text classification by encoder transformers over gRPC.", "heed-server");
  app.set_version_flag("--version", "heed-server " HEED_VERSION);
  app.footer(
      "Each flag may also be given as an environment variable (--max-batch-tokens as "
      "HEED_MAX_BATCH_TOKENS) or as a key of the config file; a flag counts before a variable, "
      "and a variable before the file.");
  std::map<std::string, std::vector<std::string>> given;
  for (const OptionSpec& spec : OptionTable()) {
    CLI::Option* option = app.add_option("--" + spec.name, given[spec.name], spec.help);
    option->type_name(spec.value_name)->allow_extra_args(false);
    if (!spec.default_value.empty()) option->default_str(spec.default_value);
    if (!spec.repeatable) option->expected(1);
  }
  app.add_option("--config", config_path, "File of settings, as TOML or INI")->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = app.exit(error, out, err);
    return Stop(code == 0 ? 0 : kUsageError, out.str() + err.str());
  }
  for (const OptionSpec& spec : OptionTable()) {
    const std::vector<std::string>& values = given[spec.name];
    if (!values.empty()) raw[spec.name] = {values, "flag", "--" + spec.name};
  }
  return std::nullopt;
}

void ReadEnvironment(const GetEnv& get_env, RawValues& raw, std::string& config_path) {
  for (const OptionSpec& spec : OptionTable()) {
    if (raw.count(spec.name) != 0) continue;
    const std::string name = EnvironmentName(spec.name);
    const char* const value = get_env(name.c_str());
    if (value == nullptr || *value == '\0') continue;
    raw[spec.name] = {SplitList(spec, value), "environment", name};
  }
  const char* const path = get_env(EnvironmentName(kConfig).c_str());
  if (config_path.empty() && path != nullptr) config_path = path;
}

absl::Status ReadFile(const std::string& path, RawValues& raw) {
  std::ifstream file(path);
  if (!file || fs::is_directory(path)) {
    return absl::NotFoundError(absl::StrCat("--config: cannot read ", path));
  }
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(file);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("--config: ", path, ": ", error.what()));
  }
  for (const CLI::ConfigItem& item : items) {
    if (item.name == "++" || item.name == "--") continue;  // how CLI11 marks a section's ends
    const auto& table = OptionTable();
    const auto spec = std::find_if(table.begin(), table.end(),
                                   [&](const OptionSpec& s) { return s.name == item.fullname(); });
    if (spec == table.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--config: ", path, " has an unknown key \"", item.fullname(), "\""));
    }
    if (item.inputs.empty() || (!spec->repeatable && item.inputs.size() != 1)) {
      return absl::InvalidArgumentError(absl::StrCat("--config: ", path, ": \"", item.name,
                                                     "\" has ", item.inputs.size(), " values"));
    }
    RawValue& value = raw[spec->name];
    if (value.source.empty() || (value.source == "file" && spec->repeatable)) {
      value.source = "file";
      value.origin = absl::StrCat(spec->name, " in ", path);
      value.values.insert(value.values.end(), item.inputs.begin(), item.inputs.end());
    }
  }
  return absl::OkStatus();
}

}  // namespace

ParsedOptions ParseOptions(int argc, const char* const* argv, const GetEnv& get_env) {
  RawValues raw;
  std::string config_path;
  if (auto stop = ReadFlags(argc, argv, raw, config_path)) return *std::move(stop);
  ReadEnvironment(get_env, raw, config_path);
  if (!config_path.empty()) {
    const absl::Status status = ReadFile(config_path, raw);
    if (!status.ok()) return Stop(kUsageError, absl::StrCat(status.message(), "\n"));
  }
  ParsedOptions parsed;
  for (const OptionSpec& spec : OptionTable()) {
    RawValue& value = raw[spec.name];
    if (value.source.empty()) {
      value.source = "default";
      value.origin = "--" + spec.name;
      if (!spec.default_value.empty()) value.values = {spec.default_value};
    }
    if (!value.values.empty()) {
      const absl::Status status = spec.apply(value.values, parsed.options);
      if (!status.ok()) {
        return Stop(kUsageError, absl::StrCat(value.origin, ": ", status.message(), "\n"));
      }
    }
    std::string shown = absl::StrJoin(value.values, ", ");
    if (spec.name == "threads" && shown == "auto") {
      shown = absl::StrCat("auto (", parsed.options.threads, ")");
    }
    parsed.effective.push_back({spec.name, std::move(shown), value.source});
  }
  return parsed;
}

ParsedOptions ParseOptions(int argc, const char* const* argv) {
  return ParseOptions(argc, argv, [](const char* name) { return std::getenv(name); });
}

absl::StatusOr<std::vector<ModelSource>> ListModelSources(const Options& options) {
  std::vector<ModelSource> sources = options.models;
  if (!options.model_repository.empty()) {
    std::error_code error;
    std::vector<ModelSource> found;
    for (const auto& entry : fs::directory_iterator(options.model_repository, error)) {
      if (!fs::exists(entry.path() / "config.json", error)) continue;
      found.push_back({entry.path().filename().string(), entry.path().string()});
    }
    if (error) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--model-repository: cannot read ", options.model_repository, ": ", error.message()));
    }
    std::sort(found.begin(), found.end(),
              [](const ModelSource& a, const ModelSource& b) { return a.name < b.name; });
    sources.insert(sources.end(), found.begin(), found.end());
  }
  if (sources.empty()) {
    return absl::InvalidArgumentError(
        "no model to serve: give --model NAME=PATH or --model-repository DIR");
  }
  std::set<std::string> names;
  for (const ModelSource& source : sources) {
    if (!names.insert(source.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--model: two models are called \"", source.name, "\""));
    }
  }
  return sources;
}

}  // namespace heed
