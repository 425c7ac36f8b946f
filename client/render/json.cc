#include "client/render/json.h"

#include <algorithm>
#include <utility>

#include "absl/base/casts.h"
#include "client/render/entities.h"
#include "client/render/json_util.h"

namespace heed::cli {
namespace {

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + static_cast<double>(duration.nanos()) / 1e9;
}

void AddText(const v1::TextInput& input, Json* json) {
  (*json)["text"] = input.text();
  if (input.has_text_pair()) (*json)["text_pair"] = input.text_pair();
}

void AddLabels(const v1::Classification& result, Json* json) {
  (*json)["labels"] = LabelsJson(result);
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

void AddImportance(const v1::Classification& result, Json* json) {
  Json& tokens = (*json)["tokens"] = Json::array();
  for (const v1::Token& token : result.tokens()) tokens.push_back(TokenJson(token));
  Json& importance = (*json)["token_importance"] = Json::array();
  for (const float value : result.token_importance()) importance.push_back(Shortest(value));
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
  if (!text.result.token_importance().empty()) AddImportance(text.result, &json);
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
    json["tokens"].push_back(TokenJson(token));
  }
  json["usage"] = UsageJson(result.usage());
  return Dump(json);
}

std::string HealthJson(absl::string_view service, absl::string_view status) {
  return Dump({{"service", std::string(service)}, {"status", std::string(status)}});
}

}  // namespace heed::cli
