#include "client/render/json.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace heed::cli {
namespace {

using Json = nlohmann::ordered_json;

// JSON escapes only C0. DEL, C1 (two bytes, C2 80 … C2 9F) and the bidirectional controls are
// outside ASCII only inside strings, where \u is the same character.
std::string Dump(const Json& json) {
  const std::string text =
      json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = [&text](size_t at) {
      return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u;
    };
    if (byte(i) == 0x7F) {
      absl::StrAppend(&result, "\\u007f");
    } else if (byte(i) == 0xC2 && byte(i + 1) < 0xA0) {
      absl::StrAppendFormat(&result, "\\u%04x", byte(i + 1));
      i += 1;
    } else if (byte(i) == 0xE2 && byte(i + 1) == 0x80 && byte(i + 2) >= 0xA8 &&
               byte(i + 2) <= 0xAE) {
      absl::StrAppendFormat(&result, "\\u20%02x", byte(i + 2) - 0x80);
      i += 2;
    } else if (byte(i) == 0xE2 && byte(i + 1) == 0x81 && byte(i + 2) >= 0xA6 &&
               byte(i + 2) <= 0xA9) {
      absl::StrAppendFormat(&result, "\\u20%02x", byte(i + 2) - 0x40);
      i += 2;
    } else {
      result.push_back(text[i]);
    }
  }
  return result;
}

// The double whose shortest decimals are those of the float: 0.9, not 0.8999999761581421. What is
// not finite has no JSON number and becomes null.
Json Shortest(float value) {
  if (!std::isfinite(value)) return nullptr;
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  double result = 0.0;
  if (!absl::SimpleAtod(absl::string_view(digits, static_cast<size_t>(end - digits)), &result)) {
    return value;
  }
  return result;
}

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + static_cast<double>(duration.nanos()) / 1e9;
}

Json UsageJson(const v1::TokenUsage& usage) {
  return {{"token_count", usage.token_count()},
          {"original_token_count", usage.original_token_count()},
          {"truncated", usage.truncated()},
          {"chunk_count", usage.chunk_count()}};
}

void AddText(const v1::TextInput& input, Json* json) {
  (*json)["text"] = input.text();
  if (input.has_text_pair()) (*json)["text_pair"] = input.text_pair();
}

}  // namespace

std::string ClassificationJson(const ClassifiedText& text, bool with_text) {
  Json json;
  json["index"] = text.index;
  if (with_text) AddText(text.input, &json);
  json["labels"] = Json::array();
  for (const v1::LabelScore& label : text.result.labels()) {
    json["labels"].push_back({{"label", label.label()},
                              {"label_id", label.label_id()},
                              {"score", Shortest(label.score())}});
  }
  if (!text.result.logits().empty()) {
    json["logits"] = Json::array();
    for (const float logit : text.result.logits()) json["logits"].push_back(Shortest(logit));
  }
  json["usage"] = UsageJson(text.result.usage());
  const v1::Timing& timing = text.result.timing();
  json["timing"] = {{"tokenize", Seconds(timing.tokenize())},
                    {"queue", Seconds(timing.queue())},
                    {"compute", Seconds(timing.compute())},
                    {"serialize", Seconds(timing.serialize())}};
  json["model"] = text.response.model_name();
  json["model_version"] = text.response.model_version();
  return Dump(json);
}

std::string ModelJson(const v1::Model& model) {
  Json json = {{"name", model.name()},
               {"version", model.version()},
               {"default", model.default_()},
               {"architecture", model.architecture()},
               {"positional_encoding", model.positional_encoding()},
               {"attention_pattern", model.attention_pattern()},
               {"layer_count", model.layer_count()},
               {"head_count", model.head_count()},
               {"hidden_size", model.hidden_size()},
               {"max_tokens", model.max_tokens()}};
  json["labels"] = Json::array();
  for (const std::string& label : model.labels()) json["labels"].push_back(label);
  json["task"] = model.task();
  json["accepts_pairs"] = model.accepts_pairs();
  json["precision"] = model.precision();
  json["device"] = model.device();
  json["parameter_count"] = model.parameter_count();
  json["weights_bytes"] = model.weights_bytes();
  json["packed_bytes"] = model.packed_bytes();
  return Dump(json);
}

std::string TokenizedJson(uint64_t index, const v1::TextInput& input,
                          const v1::TokenizedText& result) {
  Json json;
  json["index"] = index;
  AddText(input, &json);
  json["tokens"] = Json::array();
  for (const v1::Token& token : result.tokens()) {
    json["tokens"].push_back({{"piece", token.piece()},
                              {"id", token.id()},
                              {"start_byte", token.start_byte()},
                              {"end_byte", token.end_byte()},
                              {"start_char", token.start_char()},
                              {"end_char", token.end_char()},
                              {"segment", token.segment()},
                              {"special", token.special()}});
  }
  json["usage"] = UsageJson(result.usage());
  return Dump(json);
}

std::string HealthJson(absl::string_view service, absl::string_view status) {
  return Dump({{"service", std::string(service)}, {"status", std::string(status)}});
}

}  // namespace heed::cli
