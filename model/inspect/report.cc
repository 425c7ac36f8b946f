#include "model/inspect/report.h"

#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "model/checkpoint/model_config.h"

namespace heed {
namespace {

using nlohmann::json;

json NullIfEmpty(const std::vector<int64_t>& layers) {
  return layers.empty() ? json(nullptr) : json(layers);
}

json Encodings(const ModelConfig& config) {
  json encodings = json::array();
  for (const EncodingConfig& encoding : config.encodings) {
    encodings.push_back({{"name", encoding.name},
                         {"options", encoding.options},
                         {"layers", NullIfEmpty(encoding.layers)}});
  }
  if (encodings.empty()) {
    encodings.push_back({{"name", "none"}, {"options", json::object()}, {"layers", nullptr}});
  }
  return encodings;
}

json Patterns(const ModelConfig& config) {
  json patterns = json::array();
  for (size_t i = 0; i < config.patterns.size(); ++i) {
    std::vector<int64_t> layers;
    for (size_t layer = 0; layer < config.layer_patterns.size(); ++layer) {
      if (config.layer_patterns[layer] == static_cast<int64_t>(i)) {
        layers.push_back(static_cast<int64_t>(layer));
      }
    }
    if (layers.empty() && !config.layer_patterns.empty()) continue;
    if (layers.size() == static_cast<size_t>(config.layer_count)) layers.clear();
    patterns.push_back({{"name", config.patterns[i].name},
                        {"options", config.patterns[i].options},
                        {"layers", NullIfEmpty(layers)}});
  }
  return patterns;
}

std::string Bytes(int64_t bytes) {
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string Scalar(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// "rope (base=10000, layout=halves) in layers 0, 3".
std::string Choice(const json& choice) {
  std::string text = Scalar(choice["name"]);
  std::vector<std::string> options;
  for (const auto& [name, value] : choice["options"].items()) {
    options.push_back(absl::StrCat(name, "=", Scalar(value)));
  }
  if (!options.empty()) absl::StrAppend(&text, " (", absl::StrJoin(options, ", "), ")");
  if (choice["layers"].is_null()) return text;
  return absl::StrCat(text, " in layers ",
                      absl::StrJoin(choice["layers"].get<std::vector<int64_t>>(), ", "));
}

void AddLine(std::string& text, const std::string& name, const std::string& value) {
  absl::StrAppend(&text, absl::StrFormat("%-21s %s\n", name, value));
}

}  // namespace

absl::StatusOr<json> InspectModel(const std::string& path, const LoadOptions& options) {
  const auto model = LoadModel(path, options);
  if (!model.ok()) return model.status();
  const auto config =
      ReadModelConfig((std::filesystem::path(path) / "config.json").string(),
                      options.headless ? ConfigPurpose::kEncoder : ConfigPurpose::kClassifier);
  if (!config.ok()) return config.status();
  const ModelInfo& info = model->info();
  const bool attends = config->text_cnn.filter_count == 0;
  json report = {{"architecture", info.architecture},
                 {"version", info.version},
                 {"task", info.task.empty() ? json(nullptr) : json(info.task)},
                 {"labels", info.labels},
                 {"precision", info.precision},
                 {"positional_encodings", attends ? Encodings(*config) : json::array()},
                 {"attention_patterns", attends ? Patterns(*config) : json::array()},
                 {"notes", model->notes},
                 {"parameters", info.parameter_count},
                 {"bytes", info.weights_bytes}};
  report["sizes"] = {{"hidden_size", info.hidden_size}, {"vocabulary", info.vocab_size}};
  if (attends) {
    report["sizes"].update({{"layers", config->layer_count},
                            {"heads", config->head_count},
                            {"key_value_heads", config->key_value_heads()},
                            {"head_size", config->head_width()},
                            {"intermediate_size", config->intermediate_size}});
  }
  report["limits"] = {{"max_tokens", info.max_tokens > 0 ? json(info.max_tokens) : json(nullptr)},
                      {"segments", config->reads_segments ? config->segment_count : 0},
                      {"pairs", info.accepts_pairs}};
  report["parts"] = json::array();
  for (const ModelPart& part : model->parts) {
    report["parts"].push_back(
        {{"name", part.name}, {"parameters", part.parameter_count}, {"bytes", part.bytes}});
  }
  return report;
}

std::string FormatReport(const json& report) {
  std::string text;
  AddLine(text, "architecture", Scalar(report["architecture"]));
  AddLine(text, "version", Scalar(report["version"]));
  AddLine(text, "task", report["task"].is_null() ? "none: no head" : Scalar(report["task"]));
  if (!report["labels"].empty()) {
    AddLine(text, "labels", absl::StrJoin(report["labels"].get<std::vector<std::string>>(), ", "));
  }
  AddLine(text, "precision", Scalar(report["precision"]));
  for (const json& encoding : report["positional_encodings"]) {
    AddLine(text, "positional encoding", Choice(encoding));
  }
  for (const json& pattern : report["attention_patterns"]) {
    AddLine(text, "attention pattern", Choice(pattern));
  }
  std::vector<std::string> sizes;
  for (const auto& [name, value] : report["sizes"].items()) {
    sizes.push_back(absl::StrCat(name, " ", Scalar(value)));
  }
  AddLine(text, "sizes", absl::StrJoin(sizes, ", "));
  const json& limits = report["limits"];
  AddLine(text, "longest text",
          limits["max_tokens"].is_null() ? "no limit"
                                         : absl::StrCat(Scalar(limits["max_tokens"]), " tokens"));
  AddLine(text, "segments",
          limits["segments"] == 0 ? "not told apart" : Scalar(limits["segments"]));
  AddLine(text, "pairs of texts", limits["pairs"].get<bool>() ? "yes" : "no");
  absl::StrAppend(&text, absl::StrFormat("\n%-21s %14s %14s\n", "part", "parameters", "memory"));
  const auto add_part = [&](const std::string& name, int64_t parameters, int64_t bytes) {
    absl::StrAppend(&text, absl::StrFormat("%-21s %14d %14s\n", name, parameters, Bytes(bytes)));
  };
  for (const json& part : report["parts"]) {
    add_part(part["name"], part["parameters"], part["bytes"]);
  }
  add_part("all", report["parameters"], report["bytes"]);
  for (const json& note : report["notes"]) absl::StrAppend(&text, "\nnote: ", Scalar(note), "\n");
  return text;
}

}  // namespace heed
