#include "client/render/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/base/casts.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/entities.h"

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

void AddLabels(const v1::Classification& result, Json* json) {
  Json& labels = (*json)["labels"] = Json::array();
  for (const v1::LabelScore& label : result.labels()) {
    labels.push_back({{"label", label.label()},
                      {"label_id", label.label_id()},
                      {"score", Shortest(label.score())}});
  }
  if (result.logits().empty()) return;
  Json& logits = (*json)["logits"] = Json::array();
  for (const float logit : result.logits()) logits.push_back(Shortest(logit));
}

float LittleEndianFloat(absl::string_view bytes) {
  uint32_t bits = 0;
  for (size_t i = 0; i < sizeof(bits); ++i) {
    bits |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return absl::bit_cast<float>(bits);
}

// A list a row; none for a tensor that is no matrix of float32.
Json MatrixJson(const v1::Tensor& tensor) {
  Json rows = Json::array();
  const absl::string_view data = tensor.data();
  if (tensor.type() != v1::TENSOR_TYPE_FLOAT32 || tensor.shape_size() != 2) return rows;
  const auto columns = static_cast<size_t>(std::max<int64_t>(tensor.shape(1), 0));
  if (columns == 0 || columns > data.size() / sizeof(float)) return rows;
  const size_t row_bytes = columns * sizeof(float);
  for (size_t begin = 0; begin + row_bytes <= data.size(); begin += row_bytes) {
    Json row = Json::array();
    for (size_t i = 0; i < columns; ++i) {
      row.push_back(Shortest(LittleEndianFloat(data.substr(begin + i * sizeof(float), 4))));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void AddEntities(const ClassifiedText& text, bool with_text, Json* json) {
  Json& entities = (*json)["entities"] = Json::array();
  for (const v1::Entity& entity : text.result.entities()) {
    Json item = {{"label", entity.label()},           {"score", Shortest(entity.score())},
                 {"start_byte", entity.start_byte()}, {"end_byte", entity.end_byte()},
                 {"start_char", entity.start_char()}, {"end_char", entity.end_char()},
                 {"segment", entity.segment()}};
    if (with_text) item["text"] = std::string(EntityText(text.input, entity));
    entities.push_back(std::move(item));
  }
  if (text.result.has_token_logits()) {
    (*json)["token_logits"] = MatrixJson(text.result.token_logits());
  }
}

}  // namespace

std::string ClassificationJson(const ClassifiedText& text, bool with_text) {
  Json json;
  json["index"] = text.index;
  if (with_text) AddText(text.input, &json);
  if (text.result.labels().empty()) {
    AddEntities(text, with_text, &json);
  } else {
    AddLabels(text.result, &json);
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
